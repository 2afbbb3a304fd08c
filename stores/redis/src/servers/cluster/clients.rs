//! Asking nodes who has which slots, over connections that are kept.

use std::{
    io::ErrorKind,
    sync::{Arc, Mutex},
};

use futures_util::future::join;
use tenure_core::{Fault, FaultKind};

use super::{lock, map::NodeView};
use crate::{
    client::{ConnectTrace, Connection, Endpoint, Failure, error, greet},
    options::{Address, HostPort, RedisOptions},
    servers::spares::SpareConnections,
};

/// How many connections are kept.
const MOST: usize = 16;

/// Connections to nodes, of one task or one runtime.
#[derive(Debug, Default)]
pub(crate) struct NodeClients {
    kept: Mutex<Vec<(HostPort, Arc<Connection>)>>,
    /// One asks at a time over these. Those of another runtime do not wait for it, as it may stand still.
    pub(super) asking: tokio::sync::Mutex<()>,
}

impl NodeClients {
    /// What the node there says.
    pub(super) async fn ask(
        &self,
        options: &RedisOptions,
        spares: &SpareConnections,
        place: &HostPort,
    ) -> Result<NodeView, Fault> {
        let at = options.location_of(&Address::of(options.tls, &place.0, place.1));
        let connection = match self.open(options, place, &at).await {
            Ok((connection, is_new)) => {
                if is_new {
                    spares.add(place, &connection);
                }
                connection
            }
            Err(fault) => spares.at(place).ok_or(fault)?,
        };
        let told =
            join(connection.send(&["CLUSTER", "SLOTS"]), connection.send(&["CLUSTER", "NODES"]));
        let told = match told.await {
            (Ok(slots), Ok(nodes)) => {
                NodeView::read(place, &slots, &nodes).ok_or(Failure::Nonsense)
            }
            (Err(failure), _) | (_, Err(failure)) => Err(failure),
        };
        told.map_err(|failure| {
            if !failure.is_an_answer() {
                lock(&self.kept).retain(|(known, _)| known != place);
            }
            refused(&at, failure)
        })
    }

    /// A connection to the node there, and whether it is new.
    async fn open(
        &self,
        options: &RedisOptions,
        place: &HostPort,
        at: &str,
    ) -> Result<(Arc<Connection>, bool), Fault> {
        let known = {
            let mut kept = lock(&self.kept);
            kept.retain(|(_, connection)| !connection.is_closed());
            kept.iter().find(|(known, _)| known == place).map(|(_, kept)| kept.clone())
        };
        if let Some(connection) = known {
            return Ok((connection, false));
        }
        let mut journal = ConnectTrace::new();
        let greeting = async {
            let whom = Endpoint {
                address: &Address::of(options.tls, &place.0, place.1),
                certificates: &options.certificates,
                login: &options.login,
                secret: options.login.secret(at, options.connect_timeout).await?,
                patience: options.response_timeout,
            };
            let greeted = greet(&whom, None, &mut journal).await;
            let greeted = greeted.map_err(|failure| {
                let is_refused = failure.is_wrong_password();
                let fault = error::of_step(at, journal.at, failure);
                options.login.failed(at, whom.secret.as_ref(), is_refused, fault)
            })?;
            options.login.accepted(at);
            Ok(greeted)
        };
        let greeted = tokio::time::timeout(options.connect_timeout, greeting).await;
        let silent = |_| Err(error::of_step(at, journal.at, ErrorKind::TimedOut.into()));
        let (connection, _) = greeted.unwrap_or_else(silent)?;
        let connection = Arc::new(connection);
        let mut kept = lock(&self.kept);
        if kept.len() >= MOST {
            kept.remove(0);
        }
        kept.push((place.clone(), connection.clone()));
        Ok((connection, true))
    }
}

fn refused(at: &str, failure: Failure) -> Fault {
    if failure.detail().is_some_and(|detail| detail.contains("cluster support disabled")) {
        return no_cluster(at);
    }
    if failure.code() == Some("NOPERM") {
        let what =
            format!("Redis at {at} does not permit this user to ask which node has which slots");
        let help = "give it the ACL line of https://github.com/tenure-rs/tenure/blob/main/docs/stores/redis-cluster.md";
        return Fault::new(FaultKind::Misconfigured, what, help).because(format!("{failure:#}"));
    }
    error::of_connecting(at, failure)
}

/// It is a server by itself.
pub(crate) fn no_cluster(at: &str) -> Fault {
    let what = format!("Redis at {at} is not in cluster mode");
    Fault::new(FaultKind::Misconfigured, what, "write redis:// or rediss:// and the one server")
}
