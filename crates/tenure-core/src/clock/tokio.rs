//! The clock of a tokio runtime, which tests can pause.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tenure_proto::Timestamp;
use tokio::time::Instant;

use super::{Clock, Sleep};

/// The clock of the current tokio runtime, for tests that pause it with [`tokio::time::pause`] or `start_paused`, or
/// move it with [`tokio::time::advance`].
///
/// It shows the time of the runtime that asks, so all its users must be in one runtime. Give it to the store as well,
/// and build with [`TenureBuilder::build_in_runtime`](crate::TenureBuilder::build_in_runtime). Do not use it in
/// production: it does not count the time for which a machine is suspended.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
/// # .block_on(async {
/// use std::{sync::Arc, time::Duration};
/// use tenure_core::{MemoryStore, Tenure, TokioClock};
///
/// let clock = Arc::new(TokioClock::new());
/// let store = Arc::new(MemoryStore::with_clock(clock.clone()));
/// let tenure = Tenure::builder(store).clock(clock).build_in_runtime();
///
/// let guard = tenure.mutex("nightly").ttl(Duration::from_secs(30)).lock().await?;
/// tokio::time::sleep(Duration::from_secs(3600)).await;      // takes no time
/// guard.check()?;                                           // it was renewed 360 times meanwhile
/// # Ok::<(), tenure_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TokioClock {
    origin: Instant,
    /// The time of day at the origin, in microseconds since the Unix epoch.
    wall: u64,
}

/// The time at the clock's origin, so that nothing seems to have happened before it.
const START: Duration = Duration::from_secs(1);

impl TokioClock {
    /// Makes a clock that begins now.
    #[must_use]
    pub fn new() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let wall = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
        Self { origin: Instant::now(), wall }
    }

    fn elapsed(&self) -> Duration {
        Instant::now().saturating_duration_since(self.origin)
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        Timestamp::ZERO.saturating_add(START).saturating_add(self.elapsed())
    }

    fn wall(&self) -> u64 {
        let elapsed = u64::try_from(self.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.wall.saturating_add(elapsed)
    }

    fn sleep_until(&self, until: Timestamp) -> Sleep {
        let clock = *self;
        // The timer is made when it is awaited, because it belongs to the runtime that polls it.
        Box::pin(async move {
            let rest = until.since(clock.now());
            if !rest.is_zero() {
                tokio::time::sleep(rest).await;
            }
        })
    }
}
