//! Clocks over the simulation's time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use tenure_core::{
    Clock,
    clock::Sleep,
    proto::{Timestamp, Ttl},
};
use tokio::time::Instant;

const MILLION: i128 = 1_000_000;
/// Early in the year 2020, in microseconds.
const EPOCH: i64 = 1_577_836_800_000_000;
/// A sleep that is longer than any run.
const LONGEST: Duration = Ttl::MAX;

/// A clock that runs at a rate of its own over the paused time of a tokio runtime.
#[derive(Clone, Debug)]
pub struct SimClock {
    start: Instant,
    /// What it reads at the start, in nanoseconds.
    origin: u64,
    /// How much faster it runs than true time, in millionths.
    faster: i32,
    /// By how much its time of day was set, in microseconds.
    set_by: Arc<AtomicI64>,
}

impl SimClock {
    /// True time, which starts now at one second.
    #[must_use]
    pub fn true_time() -> Self {
        Self { start: Instant::now(), origin: 1_000_000_000, faster: 0, set_by: Arc::default() }
    }

    /// A clock that started with this one at `origin` nanoseconds and runs `faster` millionths
    /// faster.
    #[must_use]
    pub fn beside(&self, origin: u64, faster: i32) -> Self {
        Self { origin, faster, set_by: Arc::default(), ..self.clone() }
    }

    /// Sets the time of day forward or back, in microseconds.
    pub fn set_wall_by(&self, micros: i64) {
        self.set_by.fetch_add(micros, Ordering::Relaxed);
    }

    /// The first moment of true time at which this clock reads `at` or more.
    #[must_use]
    pub fn true_at(&self, at: Timestamp) -> Timestamp {
        let local = i128::from(at.as_nanos()) - i128::from(self.origin);
        let rate = MILLION + i128::from(self.faster);
        let elapsed = (local * MILLION + rate - 1).div_euclid(rate);
        Timestamp::from_nanos(u64::try_from(elapsed + 1_000_000_000).unwrap_or(0))
    }

    fn elapsed(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        let elapsed = i128::from(self.elapsed());
        let local = elapsed * (MILLION + i128::from(self.faster)) / MILLION;
        let now = local + i128::from(self.origin);
        Timestamp::from_nanos(u64::try_from(now).unwrap_or(u64::MAX))
    }

    fn wall(&self) -> u64 {
        let micros = i64::try_from(self.elapsed() / 1_000).unwrap_or(i64::MAX);
        let wall = EPOCH + micros + self.set_by.load(Ordering::Relaxed);
        u64::try_from(wall).unwrap_or(0)
    }

    fn sleep_until(&self, until: Timestamp) -> Sleep {
        let clock = self.clone();
        Box::pin(async move {
            loop {
                let rest = clock.true_at(until).since(clock.true_at(clock.now()));
                if clock.now() >= until {
                    return;
                }
                tokio::time::sleep(rest.min(LONGEST)).await;
            }
        })
    }
}
