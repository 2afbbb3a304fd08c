//! A clock for tests, which runs as usual and can be moved forward.

use std::{pin::pin, sync::Arc, time::Duration};

use futures_util::future::{Either, select};
use pyo3::prelude::*;
use tenure::clock::{Clock as CoreClock, Sleep, SystemClock, Timestamp};
use tokio::sync::watch;

use crate::settings::Length;

/// The machine's clock, ahead by as much as a test moved it. Waits end as they do without it, so a test that moves
/// nothing does not hang.
#[derive(Clone, Debug)]
pub(crate) struct MovedClock {
    ahead: Arc<watch::Sender<Duration>>,
}

impl CoreClock for MovedClock {
    fn now(&self) -> Timestamp {
        SystemClock.now().saturating_add(*self.ahead.borrow())
    }

    fn wall(&self) -> u64 {
        let ahead = u64::try_from(self.ahead.borrow().as_micros()).unwrap_or(u64::MAX);
        SystemClock.wall().saturating_add(ahead)
    }

    fn sleep_until(&self, until: Timestamp) -> Sleep {
        let mut ahead = self.ahead.subscribe();
        Box::pin(async move {
            loop {
                let moved = *ahead.borrow_and_update();
                let rest = until.since(SystemClock.now().saturating_add(moved));
                if rest.is_zero() {
                    return;
                }
                let sleep = SystemClock.sleep_until(SystemClock.now().saturating_add(rest));
                if let Either::Right((Err(_), sleep)) = select(sleep, pin!(ahead.changed())).await {
                    // No test can move it any more.
                    return sleep.await;
                }
            }
        })
    }
}

/// A clock for tests. It runs as usual, and `advance` moves it forward.
#[pyclass(frozen, module = "tenure")]
#[derive(Debug)]
pub(crate) struct Clock {
    pub(crate) clock: MovedClock,
}

#[pymethods]
impl Clock {
    #[new]
    fn new() -> Self {
        Self { clock: MovedClock { ahead: Arc::new(watch::Sender::new(Duration::ZERO)) } }
    }

    /// Moves the clock forward by this time: seconds, or a `timedelta`.
    fn advance(&self, by: Length) {
        self.clock.ahead.send_modify(|ahead| *ahead = ahead.saturating_add(by.0));
    }

    /// The time of the clock, in seconds. It has no meaning but to be compared.
    #[getter]
    fn now(&self) -> f64 {
        Duration::from_nanos(self.clock.now().as_nanos()).as_secs_f64()
    }
}
