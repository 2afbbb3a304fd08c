//! Taking back what an abandoned acquisition may have left in the store.

use std::time::Duration;

use crate::Timestamp;

/// The longest time between a failed attempt and the next one: a lease may be very long.
const LONGEST_GAP: Duration = Duration::from_secs(5);

/// The result of one attempt to take an acquisition back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// The store answered that nothing is left.
    Gone,
    /// The store did not answer.
    Failed,
}

/// The clean-up of one acquisition (promise
/// [S5](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s5-nothing-leaks)).
///
/// An attempt can overtake the acquire that it takes back. So if a store's calls can arrive late, one success is not
/// the end. The attempt is repeated, at growing intervals, until one ttl has passed. An acquire that arrives even later
/// ends on its own, one ttl after it arrived.
#[derive(Clone, Debug)]
pub struct AcquisitionCleanup {
    until: Timestamp,
    next: Timestamp,
    gap: Duration,
    calls_outlive_drop: bool,
}

impl AcquisitionCleanup {
    /// Starts at once. `ttl` is the ttl of the acquire. `calls_outlive_drop` says whether a call can take effect after
    /// its caller gave it up.
    #[must_use]
    pub fn new(now: Timestamp, ttl: Duration, calls_outlive_drop: bool) -> Self {
        let gap = (ttl / 32).clamp(Duration::from_millis(5), LONGEST_GAP);
        Self { until: now.saturating_add(ttl), next: now, gap, calls_outlive_drop }
    }

    /// Returns when the next attempt is due.
    #[must_use]
    pub const fn next_attempt(&self) -> Timestamp {
        self.next
    }

    /// Records the result of an attempt. Returns `true` if nothing is left to do.
    #[must_use]
    pub fn attempted(&mut self, now: Timestamp, attempt: Attempt) -> bool {
        let settled = attempt == Attempt::Gone && !self.calls_outlive_drop;
        if settled || now >= self.until {
            return true;
        }
        if attempt == Attempt::Failed {
            self.gap = self.gap.min(LONGEST_GAP);
        }
        self.next = now.saturating_add(self.gap).min(self.until);
        self.gap = self.gap.saturating_mul(2);
        false
    }
}
