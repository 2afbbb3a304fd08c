//! When a lease is renewed, and what an answer means.

use std::time::Duration;

use crate::Ttl;

/// A store's answer to the renewal of one lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewed {
    /// The lease is extended; `left` of it remains, as the store counts.
    Renewed {
        /// What remains of the lease.
        left: Duration,
        /// Whether other contenders wait for the name.
        others_waiting: bool,
    },
    /// The lease has ended or belongs to another owner.
    Lost,
    /// The store did not say: what a failed renewal comes to. The old deadline goes on running.
    Unknown,
}

/// How long after a successful renewal the next one is sent: a third of the ttl, so that two can
/// fail before the lease ends.
#[must_use]
pub fn interval(ttl: Ttl) -> Duration {
    ttl.for_holder() / 3
}

/// Renewals go out at multiples of this length, a sixtieth of the ttl, on the clock of their process: holds
/// of one ttl, however many and whenever they were granted, are renewed together, by few calls.
#[must_use]
pub fn beat(ttl: Ttl) -> Duration {
    ttl.for_holder() / 60
}

/// How long after a failed renewal it is tried again: a twentieth of the ttl, 5 ms to 1 s.
#[must_use]
pub fn retry_gap(ttl: Ttl) -> Duration {
    (ttl.for_holder() / 20).clamp(Duration::from_millis(5), Duration::from_secs(1))
}
