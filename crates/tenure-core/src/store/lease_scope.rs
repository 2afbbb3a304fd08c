//! What the leases of a store are tied to.

use std::time::Duration;

/// What a lease is tied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaseScope {
    /// Each hold has its own lease.
    Hold,
    /// All holds of a session share one lease, so none outlasts the session, whatever its ttl. `left` returns the rest
    /// of it, and any call may extend it.
    Session {
        /// The longest time for which a hold may be counted on without a renewal.
        longest: Duration,
    },
}

impl LeaseScope {
    /// Returns the longest time for which a hold with this `ttl` may be counted on without a renewal.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure_core::store::LeaseScope;
    ///
    /// let (short, long) = (Duration::from_secs(7), Duration::from_secs(30));
    /// assert_eq!(LeaseScope::Hold.at_most(long), long);
    /// assert_eq!(LeaseScope::Session { longest: short }.at_most(long), short);
    /// ```
    #[must_use]
    pub fn at_most(&self, ttl: Duration) -> Duration {
        match self {
            Self::Hold => ttl,
            Self::Session { longest } => ttl.min(*longest),
        }
    }
}
