//! Opening connections that many share, and doing without where none can be opened.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
};

use tenure_core::{Fault, FaultKind};

use super::Transport;
use crate::{
    client::BatchKind,
    options::RedisOptions,
    servers::{
        Topology,
        connect::{ConnectionPurpose, connect},
        error,
        links::{
            ConnectionsByRuntime, LiveConnection, OpeningTask, RuntimeConnections, ServerLink, lock,
        },
        route::Server,
    },
};

/// How often in a row it is asked which server has the locks, when the answer does not count for as long
/// as connecting to it takes.
pub(super) const ATTEMPTS: u32 = 3;

/// How many openings go on whose callers gave up.
const MOST_GIVEN_UP: usize = 2;

/// What opens the connections of a transport.
pub(super) struct Opener {
    options: Arc<RedisOptions>,
    place: String,
    route: Arc<Topology>,
    others: Option<Arc<ConnectionsByRuntime>>,
    batches: &'static [&'static BatchKind],
    compares: Arc<AtomicBool>,
}

impl Transport {
    pub(super) async fn current_or_open(
        &self,
        here: &Arc<RuntimeConnections>,
        link: &Arc<ServerLink>,
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

    /// Opens a connection, which continues for the next caller if this one gives up: to a server that is far away, to
    /// connect takes longer than a renewal has time.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    async fn open_anew(
        &self,
        here: &Arc<RuntimeConnections>,
        link: &Arc<ServerLink>,
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
        let opened =
            Openings::begin(self.opener(), here, link).first(|open| self.trusts(open)).await;
        let opened = opened.unwrap_or_else(|| Err(error::not_known_for_long_enough(&self.place)));
        link.record_attempt(number, opened.as_ref().map(drop));
        opened
    }

    /// A new connection to this server, for one caller.
    pub(super) async fn opened_to(&self, server: Server) -> Result<LiveConnection, Fault> {
        self.opener().opened_to(server).await
    }

    fn opener(&self) -> Opener {
        Opener {
            options: self.options.clone(),
            place: self.place.clone(),
            route: self.route.clone(),
            others: self.others.clone(),
            batches: self.batches,
            compares: self.compares.clone(),
        }
    }
}

impl Opener {
    fn trusts(&self, open: &LiveConnection) -> bool {
        self.route.trusts(&open.server, open.connection.epoch_then)
    }

    /// Connects to the server of this line, unless it is connected to.
    async fn connect(
        &self,
        here: &RuntimeConnections,
        link: &ServerLink,
    ) -> Result<LiveConnection, Fault> {
        let mut refused = None;
        for _ in 0..ATTEMPTS {
            let server = self.route.server(&here.clients, &link.node_ref).await;
            let server = server.map_err(|fault| refused.clone().unwrap_or(fault))?;
            let is_same = |open: &LiveConnection| {
                *open.server == server && (self.trusts(open) || self.route.cluster().is_none())
            };
            let opened = match (link.current().filter(is_same), &refused) {
                (Some(open), _) => Ok(open),
                (None, None) => self.opened_to(server.clone()).await.inspect(|open| {
                    // One that came late takes no place of one that is of use.
                    if link.current().is_none_or(|current| !self.trusts(&current)) {
                        *lock(&link.open) = Some(open.clone());
                    }
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
    fn open_elsewhere(&self, server: &Server) -> Option<LiveConnection> {
        let open = self.others.iter().flat_map(|others| others.shared_connections());
        open.into_iter().find(|open| *open.server == *server)
    }

    async fn opened_to(&self, server: Server) -> Result<LiveConnection, Fault> {
        let purpose = ConnectionPurpose::Calls(self.batches);
        let connection = connect(&self.options, &self.route, &server, purpose).await?;
        self.compares.store(connection.compare.is_supported(), Ordering::Relaxed);
        Ok(LiveConnection { connection: Arc::new(connection), server: Arc::new(server) })
    }
}

/// What opens a connection for a caller: a task of its own, and those of earlier callers who gave up. All run, because the
/// earlier ones are ahead, but may have been sent to a server that is gone by now.
struct Openings<'a> {
    link: &'a ServerLink,
    /// The caller's own is the last.
    tasks: Vec<OpeningTask>,
}

impl<'a> Openings<'a> {
    fn begin(opener: Opener, here: &Arc<RuntimeConnections>, link: &'a Arc<ServerLink>) -> Self {
        let mut tasks = std::mem::take(&mut *lock(&link.given_up));
        tasks.retain(|task| !task.is_finished());
        let (here, to) = (here.clone(), link.clone());
        tasks.push(tokio::spawn(async move {
            let open = opener.connect(&here, &to).await?;
            // What is in the link is not kept open by a task that nobody asks.
            let is_in_link =
                to.current().is_some_and(|it| Arc::ptr_eq(&it.connection, &open.connection));
            Ok((!is_in_link).then_some(open))
        }));
        Self { link, tasks }
    }

    /// The connection that is opened first, if it is of use. If the caller's own task fails, so does this.
    async fn first(
        mut self,
        is_of_use: impl Fn(&LiveConnection) -> bool,
    ) -> Option<Result<LiveConnection, Fault>> {
        loop {
            let (index, ended) = poll_fn(|context| {
                let ended = self.tasks.iter_mut().enumerate().find_map(|(index, task)| {
                    let Poll::Ready(ended) = Pin::new(task).poll(context) else { return None };
                    Some((index, ended))
                });
                ended.map_or(Poll::Pending, Poll::Ready)
            })
            .await;
            drop(self.tasks.remove(index));
            let is_own = index == self.tasks.len();
            let open = match ended.unwrap_or_else(|error| Err(not_opened().because(error))) {
                Ok(open) => open.or_else(|| self.link.current()),
                Err(fault) if is_own => return Some(Err(fault)),
                Err(_) => None,
            };
            if let Some(open) = open.filter(|open| !open.connection.is_closed() && is_of_use(open))
            {
                self.tasks.drain(..).for_each(|task| task.abort());
                return Some(Ok(open));
            }
            if is_own {
                return None;
            }
        }
    }
}

impl Drop for Openings<'_> {
    /// The newest continue without the caller, for as long as to connect may take.
    fn drop(&mut self) {
        self.tasks.retain(|task| !task.is_finished());
        let too_many = self.tasks.len().saturating_sub(MOST_GIVEN_UP);
        self.tasks.drain(..too_many).for_each(|task| task.abort());
        *lock(&self.link.given_up) = std::mem::take(&mut self.tasks);
    }
}

fn not_opened() -> Fault {
    Fault::new(
        FaultKind::Unreachable,
        "a connection to Redis was not opened to the end",
        "try again",
    )
}
