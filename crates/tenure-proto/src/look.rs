//! When somebody who only watches a name looks at it again.
//!
//! Watchers get no wake-ups, so they look: often while something changes, rarely while nothing
//! does.

use std::time::Duration;

use crate::{
    Backoff, Ttl,
    rule::{Rule, kept},
};

/// The pauses between two looks.
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

/// The shortest pause between two looks.
pub const SHORTEST: Duration = Duration::from_millis(20);
/// The longest: a change is seen within this and the length of one call.
pub const LONGEST: Duration = Duration::from_secs(1);

impl Look {
    /// One that begins with the shortest pauses.
    #[must_use]
    pub fn new() -> Self {
        Self { backoff: Backoff::new(SHORTEST, LONGEST) }
    }

    /// How long to pause after a look. A change seldom comes alone, so one that was seen makes the
    /// pauses short again. `random` is uniform over all of `u64`.
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
