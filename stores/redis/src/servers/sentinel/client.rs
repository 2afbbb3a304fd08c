//! One sentinel, and the connection to it.

use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::future::join5;
use tenure_core::{Fault, FaultKind};
use tokio::sync::Notify;

use super::{
    SentinelGroup, lock,
    told::{others, parse_report},
    verdict::SentinelReport,
};
use crate::{
    client::{
        ConnectStep, ConnectTrace, Connection, Endpoint, Failure, PushHandler, command, greet, text,
    },
    options::{Address, HostPort, bracketed},
    servers::error,
};

/// Where a sentinel tells of failovers that have ended.
const SWITCHED: &str = "+switch-master";

pub(super) struct SentinelClient {
    pub(super) place: HostPort,
    connection: Mutex<Option<Arc<Connection>>>,
    /// It does not tell this user of failovers.
    is_silent: AtomicBool,
}

impl SentinelClient {
    pub(super) fn new(place: HostPort) -> Self {
        Self { place, connection: Mutex::default(), is_silent: AtomicBool::new(false) }
    }

    /// What it says of the primary, and where it says that others are. A failover of which it tells
    /// later is told to `switched`.
    pub(super) async fn ask(
        &self,
        group: &SentinelGroup,
        switched: Option<&Arc<Notify>>,
    ) -> Result<(SentinelReport, Vec<HostPort>), Fault> {
        let connection = match self.open(group, switched).await {
            Ok(connection) => connection,
            Err(fault) => group.spares.at(&self.place).ok_or(fault)?,
        };
        let service = group.service();
        let place = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", service];
        let (id, before, about, after, list) = join5(
            connection.send(&["SENTINEL", "MYID"]),
            connection.send(&place),
            connection.send(&["SENTINEL", "MASTER", service]),
            connection.send(&place),
            connection.send(&["SENTINEL", "SENTINELS", service]),
        )
        .await;
        let failed = |failure: Failure| {
            if failure.detail().is_some_and(|detail| detail.starts_with("No such master")) {
                return no_such_service(&group.place(), service);
            }
            if !failure.is_an_answer() {
                self.leave(&connection);
            }
            error::of_sentinel(&self.at(), ConnectStep::Login, failure)
        };
        let (id, about) = (id.map_err(failed)?, about.map_err(failed)?);
        let (before, after) = (before.map_err(failed)?, after.map_err(failed)?);
        let list = list.map_err(failed)?;
        match parse_report(&id, &before, &about, &after) {
            Some(told) => Ok((told, others(&list).collect())),
            None => Err(failed(Failure::Nonsense)),
        }
    }

    /// Whether it is connected, and tells of failovers where somebody wants to hear of them.
    pub(super) fn hears(&self) -> bool {
        let is_open = |connection: &Arc<Connection>| !connection.is_closed();
        !self.is_silent.load(Ordering::Relaxed)
            && lock(&self.connection).as_ref().is_some_and(is_open)
    }

    async fn open(
        &self,
        group: &SentinelGroup,
        switched: Option<&Arc<Notify>>,
    ) -> Result<Arc<Connection>, Fault> {
        let current = lock(&self.connection).clone();
        if let Some(connection) = current.filter(|connection| !connection.is_closed()) {
            return Ok(connection);
        }
        let switched = switched.filter(|_| !self.is_silent.load(Ordering::Relaxed));
        let connection = match switched {
            Some(switched) => match self.listening(group, switched).await? {
                Some(connection) => connection,
                None => {
                    self.is_silent.store(true, Ordering::Relaxed);
                    self.connect(group, None).await?
                }
            },
            None => self.connect(group, None).await?,
        };
        let connection = Arc::new(connection);
        *lock(&self.connection) = Some(connection.clone());
        group.spares.add(&self.place, &connection);
        Ok(connection)
    }

    /// A connection over which it tells of failovers; nothing if this user may not hear of them.
    async fn listening(
        &self,
        group: &SentinelGroup,
        switched: &Arc<Notify>,
    ) -> Result<Option<Connection>, Fault> {
        let hear = failover_handler(group.service(), switched.clone());
        let connection = self.connect(group, Some(hear)).await?;
        // A subscription is told of, not answered; what is answered is the command behind it, unless the
        // subscription is refused: then this connection is of no use any more.
        let subscribe = |out: &mut Vec<u8>| {
            command(&["SUBSCRIBE", SWITCHED], out);
            command(&["PING"], out);
        };
        let subscribed = connection.call(&subscribe);
        match subscribed.await {
            Ok(_) => Ok(Some(connection)),
            Err(failure) if failure.code() == Some("NOPERM") => Ok(None),
            Err(failure) => Err(error::of_sentinel(&self.at(), ConnectStep::Login, failure)),
        }
    }

    async fn connect(
        &self,
        group: &SentinelGroup,
        hear: Option<PushHandler>,
    ) -> Result<Connection, Fault> {
        let sentinels = &group.sentinels;
        let secret = sentinels.login.secret(&self.at(), group.options.connect_timeout).await?;
        let whom = Endpoint {
            address: &Address::of(sentinels.tls, &self.place.0, self.place.1),
            certificates: &sentinels.certificates,
            login: &sentinels.login,
            secret,
            patience: group.options.response_timeout,
        };
        let mut journal = ConnectTrace::new();
        let greeted = greet(&whom, hear, &mut journal).await;
        match greeted {
            Ok((connection, greeting)) if greeting.is_sentinel() => {
                sentinels.login.accepted(&self.at());
                Ok(connection)
            }
            Ok(_) => Err(no_sentinel(&self.at())),
            Err(failure) => {
                let is_refused = failure.is_wrong_password();
                let fault = error::of_sentinel(&self.at(), journal.at, failure);
                Err(sentinels.login.failed(&self.at(), whom.secret.as_ref(), is_refused, fault))
            }
        }
    }

    fn at(&self) -> String {
        at(&self.place)
    }

    /// The next question goes over another connection.
    fn leave(&self, connection: &Arc<Connection>) {
        let mut current = lock(&self.connection);
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, connection)) {
            *current = None;
        }
    }
}

impl fmt::Debug for SentinelClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SentinelClient").field("place", &self.place).finish_non_exhaustive()
    }
}

/// Tells `switched` of failovers of this service.
fn failover_handler(service: &str, switched: Arc<Notify>) -> PushHandler {
    let begins = format!("{service} ");
    Box::new(move |data| {
        if let [channel, said] = data
            && text(channel).as_deref() == Some(SWITCHED)
            && text(said).is_some_and(|said| said.starts_with(&begins))
        {
            switched.notify_one();
        }
    })
}

/// Where one is, for people.
pub(super) fn at((host, port): &HostPort) -> String {
    format!("redis-sentinel://{}:{port}", bracketed(host))
}

fn no_sentinel(at: &str) -> Fault {
    let what = format!("the server at {at} is not a sentinel");
    let help = "name the sentinels in the URL, whose port is 26379 unless changed, or write redis:// for a \
                server alone";
    Fault::new(FaultKind::Misconfigured, what, help)
}

/// The sentinels know no such service.
fn no_such_service(place: &str, service: &str) -> Fault {
    let what = format!("the sentinels of {place} know no service {service:?}");
    let help = "correct service= in the URL; SENTINEL MASTERS lists what they know";
    Fault::new(FaultKind::Misconfigured, what, help)
}
