//! A connection that is made when it is needed, and anew when it broke.

use std::sync::{Arc, Mutex, PoisonError};

use tenure_core::{Clock, Fault, SystemClock, Timestamp, threads::StoreThread};
use tokio::time::timeout;

use crate::{
    PostgresOptions,
    connection::{
        connection_count::ConnectionCount,
        leaving::AbandonedSessions,
        notices::{Inbox, drive_connection},
        open::{Connection, connect},
    },
    error::{Failure, late},
    protocol::tls::Connectors,
};

/// For how long nobody tries again after a failure.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(100);

/// How connections are made.
#[derive(Clone)]
pub(crate) struct ConnectionFactory {
    pub(crate) options: Arc<PostgresOptions>,
    pub(crate) tls: Connectors,
    pub(crate) home: Arc<StoreThread>,
    pub(crate) mail: Inbox,
    pub(crate) count: ConnectionCount,
    pub(crate) leaving: AbandonedSessions,
}

impl ConnectionFactory {
    /// A new connection, which the store's own thread keeps alive. One that nobody waits for any more is not made.
    async fn make(&self) -> Result<Connection, Fault> {
        let made = match self.try_to_make().await {
            // What was meant for another client of the pooler ended it.
            Err(Failure::Doubtful(_)) => self.try_to_make().await,
            made => made,
        };
        made.map_err(Failure::fault)
    }

    async fn try_to_make(&self) -> Result<Connection, Failure> {
        let (options, tls, home) = (self.options.clone(), self.tls.clone(), self.home.clone());
        let (mail, counted) = (self.mail.clone(), self.count.one_more());
        let leaving = self.leaving.clone();
        let made = self.home.spawn_owned(async move {
            let (mut connection, polled) = connect(&options, &tls, &home).await?;
            connection.counted = Some(counted);
            connection.leaving = leaving;
            connection.attach_task(home.spawn_owned(drive_connection(
                polled,
                connection.heard.clone(),
                mail,
            )));
            // Nobody may wait for it who would give it up.
            let checked = timeout(options.sql.response_timeout, connection.check(&options)).await;
            checked.unwrap_or_else(|_| Err(late("the database did not answer", false).into()))?;
            Ok(connection)
        });
        made.outcome().await.unwrap_or_else(|| Err(ended().into()))
    }
}

fn ended() -> Fault {
    Fault::new(
        tenure_core::FaultKind::Unreachable,
        "the thread of the store has ended",
        "open the store anew",
    )
}

/// One connection at a time.
pub(crate) struct ConnectionSlot {
    maker: ConnectionFactory,
    open: Mutex<Option<Arc<Connection>>>,
    /// Held by who makes one. When that failed last, and how.
    making: tokio::sync::Mutex<Option<(Timestamp, Fault)>>,
}

impl ConnectionSlot {
    pub(crate) fn new(maker: ConnectionFactory) -> Self {
        Self { maker, open: Mutex::default(), making: tokio::sync::Mutex::default() }
    }

    /// The connection, if there is one that can be used.
    pub(crate) fn open(&self) -> Option<Arc<Connection>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.as_ref().is_some_and(|open| !open.is_usable()) {
            *open = None;
        }
        open.clone()
    }

    /// The connection, which is made if there is none.
    pub(crate) async fn get(&self) -> Result<Arc<Connection>, Fault> {
        self.get_another(None).await
    }

    /// The same, made anew if it is still this one. Whoever uses that goes on with it.
    pub(crate) async fn get_another(
        &self,
        than: Option<&Arc<Connection>>,
    ) -> Result<Arc<Connection>, Fault> {
        let another = || {
            let open = self.open();
            open.filter(|open| than.is_none_or(|than| !Arc::ptr_eq(open, than)))
        };
        if let Some(open) = another() {
            return Ok(open);
        }
        let mut failed = self.making.lock().await;
        if let Some(open) = another() {
            return Ok(open);
        }
        if let Some((at, fault)) = &*failed
            && SystemClock.now().since(*at) < PAUSE
        {
            return Err(fault.clone());
        }
        let made = self.maker.make().await;
        *failed = made.as_ref().err().map(|fault| (SystemClock.now(), fault.clone()));
        let made = Arc::new(made?);
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(made.clone());
        Ok(made)
    }
}
