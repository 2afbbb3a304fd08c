//! A connection that is made when it is needed, and anew when it broke.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tenure_core::{Clock, Fault, SystemClock, Timestamp, store::Home};
use tokio::sync::Mutex;

use crate::{
    PostgresOptions,
    connect::{Connection, connect},
    tls::Tls,
};

/// For how long nobody tries again after a failure.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(100);

/// How connections are made.
#[derive(Clone)]
pub(crate) struct Maker {
    pub(crate) options: Arc<PostgresOptions>,
    pub(crate) tls: Tls,
    pub(crate) home: Arc<Home>,
}

impl Maker {
    /// A new connection, which the store's own thread keeps alive. One that nobody waits for any more is not made.
    pub(crate) async fn make(&self) -> Result<Connection, Fault> {
        let (options, tls, home) = (self.options.clone(), self.tls.clone(), self.home.clone());
        let keeper = home.clone();
        let made = home.spawn_owned(async move {
            let (mut connection, polled) = connect(&options, &tls).await?;
            connection.kept = Some(keeper.spawn_owned(polled));
            connection.check(&options).await?;
            Ok(connection)
        });
        made.outcome().await.unwrap_or_else(|| Err(ended()))
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
pub(crate) struct Lane {
    maker: Maker,
    state: Mutex<State>,
    in_flight: AtomicUsize,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    failed: Option<(Timestamp, Fault)>,
}

/// A connection that somebody uses.
pub(crate) struct Used<'a> {
    pub(crate) connection: Arc<Connection>,
    _flight: Flight<'a>,
}

impl Lane {
    pub(crate) fn new(maker: Maker) -> Self {
        Self { maker, state: Mutex::default(), in_flight: AtomicUsize::new(0) }
    }

    /// How many use it.
    pub(crate) fn load(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    pub(crate) async fn get(&self) -> Result<Used<'_>, Fault> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        let _flight = Flight(&self.in_flight);
        let mut state = self.state.lock().await;
        if let Some(connection) = state.connection.as_ref().filter(|open| open.is_usable()) {
            return Ok(Used { connection: connection.clone(), _flight });
        }
        state.connection = None;
        if let Some((at, fault)) = &state.failed
            && SystemClock.now().since(*at) < PAUSE
        {
            return Err(fault.clone());
        }
        match self.maker.make().await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                state.connection = Some(connection.clone());
                state.failed = None;
                Ok(Used { connection, _flight })
            }
            Err(fault) => {
                state.failed = Some((SystemClock.now(), fault.clone()));
                Err(fault)
            }
        }
    }

    /// Does not use this connection any more.
    pub(crate) async fn give_up(&self, connection: &Arc<Connection>) {
        let mut state = self.state.lock().await;
        if state.connection.as_ref().is_some_and(|open| Arc::ptr_eq(open, connection)) {
            state.connection = None;
        }
    }
}

/// One that is under way.
struct Flight<'a>(&'a AtomicUsize);

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
