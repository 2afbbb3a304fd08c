//! One sentinel, and the connection to it.

use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::future::join3;
use tenure_core::{Fault, FaultKind};
use tokio::sync::Notify;

use super::{
    Group, lock,
    told::{others, told},
    verdict::Told,
};
use crate::{
    Address,
    call::command,
    connection::Connection,
    error,
    failure::Failure,
    greet::{Whom, greet},
    info::text,
    journal::{Journal, Step},
    options::bracketed,
    pipeline::Hear,
};

/// Where a sentinel tells of fail-overs that have ended.
const SWITCHED: &str = "+switch-master";

/// A host and a port.
pub(super) type Place = (String, u16);

pub(super) struct Seat {
    pub(super) place: Place,
    connection: Mutex<Option<Arc<Connection>>>,
    /// It does not tell this user of fail-overs.
    is_silent: AtomicBool,
}

impl Seat {
    pub(super) fn new(place: Place) -> Self {
        Self { place, connection: Mutex::default(), is_silent: AtomicBool::new(false) }
    }

    /// What it says of the primary, and where it says that others are. A fail-over of which it tells
    /// later is told to `switched`.
    pub(super) async fn ask(
        &self,
        group: &Group,
        switched: Option<&Arc<Notify>>,
    ) -> Result<(Told, Vec<Place>), Fault> {
        let connection = self.open(group, switched).await?;
        let service = group.service();
        let (id, about, list) = join3(
            connection.send(&["SENTINEL", "MYID"]),
            connection.send(&["SENTINEL", "MASTER", service]),
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
            error::of_sentinel(&self.at(), Step::Login, failure)
        };
        let (id, about, list) =
            (id.map_err(failed)?, about.map_err(failed)?, list.map_err(failed)?);
        match told(&id, &about) {
            Some(told) => Ok((told, others(&list).collect())),
            None => Err(failed(Failure::Nonsense)),
        }
    }

    async fn open(
        &self,
        group: &Group,
        switched: Option<&Arc<Notify>>,
    ) -> Result<Arc<Connection>, Fault> {
        let current = lock(&self.connection).clone();
        if let Some(connection) = current.filter(|connection| !connection.is_closed()) {
            return Ok(connection);
        }
        let switched = switched.filter(|_| !self.is_silent.load(Ordering::Relaxed));
        let hear = switched.map(|switched| hear(group.service(), switched.clone()));
        let listens = hear.is_some();
        let connection = Arc::new(self.connect(group, hear).await?);
        if listens {
            // A subscription is told of, not answered; what is answered is the command behind it,
            // unless the subscription is refused: then this connection is of no use any more.
            let subscribed = connection.call(|out| {
                command(&["SUBSCRIBE", SWITCHED], out);
                command(&["PING"], out);
            });
            if let Err(failure) = subscribed.await {
                self.is_silent.store(failure.is_an_answer(), Ordering::Relaxed);
                return Err(error::of_sentinel(&self.at(), Step::Login, failure));
            }
        }
        *lock(&self.connection) = Some(connection.clone());
        Ok(connection)
    }

    async fn connect(&self, group: &Group, hear: Option<Hear>) -> Result<Connection, Fault> {
        let sentinels = &group.sentinels;
        let whom = Whom {
            address: &Address::of(sentinels.tls, &self.place.0, self.place.1),
            certificates: &sentinels.certificates,
            login: &sentinels.login,
            patience: group.options.response_timeout,
        };
        let mut journal = Journal::new();
        let greeted = greet(&whom, hear, &mut journal).await;
        match greeted {
            Ok((connection, greeting)) if greeting.is_sentinel() => Ok(connection),
            Ok(_) => Err(no_sentinel(&self.at())),
            Err(failure) => Err(error::of_sentinel(&self.at(), journal.at, failure)),
        }
    }

    /// Where it is, for people.
    fn at(&self) -> String {
        let (host, port) = &self.place;
        format!("redis-sentinel://{}:{port}", bracketed(host))
    }

    /// The next question goes over another connection.
    fn leave(&self, connection: &Arc<Connection>) {
        let mut current = lock(&self.connection);
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, connection)) {
            *current = None;
        }
    }
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat").field("place", &self.place).finish_non_exhaustive()
    }
}

/// Tells `switched` of fail-overs of this service.
fn hear(service: &str, switched: Arc<Notify>) -> Hear {
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

fn no_sentinel(at: &str) -> Fault {
    let what = format!("what listens at {at} is a server and no sentinel");
    let cure = "name the sentinels in the URL, whose port is 26379 unless changed, or write redis:// for a \
                server alone";
    Fault::new(FaultKind::Misconfigured, what, cure)
}

/// The sentinels know no such service.
fn no_such_service(place: &str, service: &str) -> Fault {
    let what = format!("the sentinels of {place} know no service {service:?}");
    let cure = "correct service= in the URL; SENTINEL MASTERS lists what they know";
    Fault::new(FaultKind::Misconfigured, what, cure)
}
