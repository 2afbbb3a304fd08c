//! Opening connections that many share, and doing without where none can be opened.

use std::sync::{Arc, atomic::Ordering};

use tenure_core::Fault;

use super::Transport;
use crate::servers::{
    TopologyClients,
    connect::connect,
    error,
    links::{LiveConnection, RuntimeConnections, ServerLink, lock},
    route::Server,
};

/// How often in a row it is asked which server has the locks, when the answer does not count for as long
/// as connecting to it takes.
pub(super) const ATTEMPTS: u32 = 3;

impl Transport {
    pub(super) async fn current_or_open(
        &self,
        here: &RuntimeConnections,
        link: &ServerLink,
    ) -> Result<LiveConnection, Fault> {
        match link.current() {
            Some(open) if self.trusts(&open) => Ok(open),
            // Rare and large: in a box of its own it does not make every call large.
            _ => Box::pin(self.open_anew(here, link)).await,
        }
    }

    pub(super) fn trusts(&self, open: &LiveConnection) -> bool {
        self.route.trusts(&open.server, open.connection.epoch_then)
    }

    pub(super) async fn open_anew(
        &self,
        here: &RuntimeConnections,
        link: &ServerLink,
    ) -> Result<LiveConnection, Fault> {
        let seen = link.attempts.load(Ordering::Acquire);
        let _alone = link.opening.lock().await;
        if let Some(open) = link.current().filter(|open| self.trusts(open)) {
            return Ok(open);
        }
        let number = link.attempts.load(Ordering::Acquire) + 1;
        if number != seen + 1
            && let Some((kind, what, help)) = lock(&link.last_failure).clone()
        {
            return Err(Fault::new(kind, what, help));
        }
        let opened = self.connect(&here.clients, link, number).await;
        link.record_attempt(number, opened.as_ref().map(drop));
        opened
    }

    /// Connects to the server of this line, unless it is connected to.
    pub(super) async fn connect(
        &self,
        clients: &TopologyClients,
        link: &ServerLink,
        number: u64,
    ) -> Result<LiveConnection, Fault> {
        let mut refused = None;
        for _ in 0..ATTEMPTS {
            let server = self.route.server(clients, &link.node_ref).await;
            let server = server.map_err(|fault| refused.clone().unwrap_or(fault))?;
            let is_same = |open: &LiveConnection| {
                *open.server == server && (self.trusts(open) || self.route.cluster().is_none())
            };
            let opened = match (link.current().filter(is_same), &refused) {
                (Some(open), _) => Ok(open),
                (None, None) => self.opened_to(server.clone(), number).await.inspect(|open| {
                    *lock(&link.open) = Some(open.clone());
                }),
                (None, Some(fault)) => Err(fault.clone()),
            };
            let open = match opened {
                Ok(open) => open,
                Err(fault) => {
                    let elsewhere = self.open_elsewhere(&server).ok_or_else(|| fault.clone())?;
                    refused = Some(fault);
                    elsewhere
                }
            };
            // To connect can take longer than it is known which server it is, and to fail casts doubt on it.
            if self.trusts(&open) {
                return Ok(open);
            }
        }
        Err(refused.unwrap_or_else(|| error::not_known_for_long_enough(&self.place)))
    }

    /// One of another transport to this server.
    pub(super) fn open_elsewhere(&self, server: &Server) -> Option<LiveConnection> {
        let open = self.others.iter().flat_map(|others| others.shared_connections());
        open.into_iter().find(|open| *open.server == *server)
    }

    /// A new connection to this server, the one with this number of its line.
    pub(super) async fn opened_to(
        &self,
        server: Server,
        number: u64,
    ) -> Result<LiveConnection, Fault> {
        let connection = connect(&self.options, &self.route, &server, self.purpose()).await?;
        self.compares.store(connection.compare.is_supported(), Ordering::Relaxed);
        Ok(LiveConnection { connection: Arc::new(connection), number, server: Arc::new(server) })
    }
}
