//! A clock that moves only when a test moves it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tenure_proto::Timestamp;
use tokio::sync::watch;

use super::{Clock, Sleep};

/// A clock for tests. It moves only when you call [`ManualClock::advance`]. Cloning is cheap, and all clones are one
/// clock.
///
/// ```
/// use std::time::Duration;
/// use tenure_core::{Clock, ManualClock};
///
/// let clock = ManualClock::new();
/// let before = clock.now();
/// clock.advance(Duration::from_secs(30));
/// assert_eq!(clock.now().since(before), Duration::from_secs(30));
/// ```
#[derive(Clone, Debug)]
pub struct ManualClock {
    now: Arc<watch::Sender<Timestamp>>,
    /// The time of day minus `now`, in microseconds.
    wall_offset: Arc<AtomicU64>,
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl ManualClock {
    /// Makes a clock that shows one second after its origin, early in the year 2020.
    #[must_use]
    pub fn new() -> Self {
        Self {
            now: Arc::new(watch::Sender::new(
                Timestamp::ZERO.saturating_add(Duration::from_secs(1)),
            )),
            wall_offset: Arc::new(AtomicU64::new(1_577_836_800_000_000)),
        }
    }

    /// Moves the clock and the time of day forward, and wakes all sleepers whose time has come.
    pub fn advance(&self, by: Duration) {
        self.now.send_modify(|now| *now = now.saturating_add(by));
    }

    /// Sets the time of day, in microseconds since the Unix epoch, forward or back. Deadlines are not affected.
    pub fn set_wall(&self, micros: u64) {
        let now = self.now.borrow().as_nanos() / 1_000;
        self.wall_offset.store(micros.wrapping_sub(now), Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.now.borrow()
    }

    fn wall(&self) -> u64 {
        (self.now.borrow().as_nanos() / 1_000)
            .wrapping_add(self.wall_offset.load(Ordering::Relaxed))
    }

    fn sleep_until(&self, until: Timestamp) -> Sleep {
        let mut now = self.now.subscribe();
        Box::pin(async move {
            // The sender lives as long as the clock; without it, the time cannot move.
            if now.wait_for(|now| *now >= until).await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}
