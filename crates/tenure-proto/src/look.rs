//! When a watcher of a name asks again.
//!
//! Watchers get no wake-ups, so they ask: often while something changes, rarely while nothing does.

use std::time::Duration;

use crate::{
    Backoff, Ttl,
    rule::{Rule, kept},
};

/// The pauses between two requests of a watcher.
///
/// ```
/// use tenure_proto::{Look, look::LONGEST};
///
/// let mut look = Look::new();
/// for random in [0, u64::MAX / 3, u64::MAX] {
///     assert!(look.next(false, random) <= LONGEST);
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Look {
    backoff: Backoff,
}

/// The shortest pause between two requests.
pub const SHORTEST: Duration = Duration::from_millis(20);
/// The longest pause: a change is seen within this time and the length of one call.
pub const LONGEST: Duration = Duration::from_secs(1);

impl Look {
    /// Begins with the shortest pauses.
    #[must_use]
    pub fn new() -> Self {
        Self { backoff: Backoff::new(SHORTEST, LONGEST) }
    }

    /// Returns how long to pause after a request. A change seldom comes alone, so after one the pauses are short again.
    /// `random` is uniform over all of `u64`.
    #[must_use = "the pause is for the caller to keep"]
    pub fn next(&mut self, changed: bool, random: u64) -> Duration {
        if !kept(Rule::WatcherLooksAgain) {
            return Ttl::MAX;
        }
        if changed {
            self.backoff.reset();
        }
        self.backoff.next(random)
    }
}

impl Default for Look {
    fn default() -> Self {
        Self::new()
    }
}
