//! How tokens rise when another server takes over.
//!
//! Sentinels and clusters number their failovers. The time of a token is that of the server and some seconds
//! for each of them, so that it rises although the clock of the new server is behind.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// By how many seconds a failover moves tokens on: what the clock of the new primary may be behind that of
/// the old one.
const AHEAD: u64 = 60;
/// How many failovers do so: a number that makes no sense must not use up the tokens that there are.
const MOST: u64 = 1_000_000;

/// By how many seconds tokens are ahead of the server's time after so many failovers.
pub(crate) const fn ahead(epoch: u64) -> u64 {
    if epoch < MOST { epoch * AHEAD } else { MOST * AHEAD }
}

/// The greatest epoch that anybody has told of; clones are one. It never falls: what is known of it on one
/// connection counts at once on all others.
#[derive(Clone, Debug, Default)]
pub(crate) struct HighestEpoch(Arc<AtomicU64>);

impl HighestEpoch {
    pub(crate) fn new(epoch: u64) -> Self {
        Self(Arc::new(AtomicU64::new(epoch)))
    }

    /// Somebody tells of this one.
    pub(crate) fn raise_to(&self, epoch: u64) {
        self.0.fetch_max(epoch, Ordering::Relaxed);
    }

    /// By how many seconds tokens are ahead of the time of whichever server makes them.
    pub(crate) fn seconds_ahead(&self) -> u64 {
        ahead(self.0.load(Ordering::Relaxed))
    }

    /// The same as scripts are told it.
    pub(crate) fn argument(&self) -> String {
        format!("+{}", self.seconds_ahead())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_a_minute_ahead_for_each_epoch_that_anybody_told_of() {
        let known = HighestEpoch::new(2);
        let same = known.clone();
        assert_eq!(known.argument(), "+120");
        same.raise_to(5);
        known.raise_to(3);
        assert_eq!((known.seconds_ahead(), same.seconds_ahead()), (300, 300));
        known.raise_to(u64::MAX);
        assert_eq!(known.seconds_ahead(), 60_000_000);
    }
}
