//! When to renew a lease, and what an answer means.

use std::time::Duration;

use crate::Ttl;

/// A store's answer to the renewal of one lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewed {
    /// The lease is extended.
    Renewed {
        /// What is left of the lease, as the store counts.
        left: Duration,
        /// Whether other contenders wait for the name.
        others_waiting: bool,
    },
    /// The lease has ended or belongs to another owner.
    Lost,
    /// The renewal failed, so the state is unknown. The old deadline keeps running.
    Unknown,
}

/// Returns how long after a successful renewal the next one is sent: a third of the ttl, so that two can fail before
/// the lease ends.
#[must_use]
pub fn interval(ttl: Ttl) -> Duration {
    ttl.for_holder() / 3
}

/// Returns the length at whose multiples renewals are sent, on the process's clock: a sixtieth of the ttl. So few calls
/// renew all holds of one ttl, however many there are and whenever they were granted.
#[must_use]
pub fn beat(ttl: Ttl) -> Duration {
    ttl.for_holder() / 60
}

/// Returns how long after a failed renewal it is tried again: a twentieth of the ttl, 5 ms to 1 s.
#[must_use]
pub fn retry_gap(ttl: Ttl) -> Duration {
    (ttl.for_holder() / 20).clamp(Duration::from_millis(5), Duration::from_secs(1))
}
