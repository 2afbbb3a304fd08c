//! The common capabilities of the stores on databases.

use std::time::Duration;

use tenure_core::{
    proto::queue::Limits,
    store::{Capabilities, LeaseScope, Reasons},
};

/// Returns what all of them can do within these limits, without messages.
#[must_use]
pub fn capabilities(limits: &Limits) -> Capabilities {
    Capabilities {
        shared: true,
        permits: true,
        fifo: true,
        handoff: true,
        implicit_handoff: false,
        pass_bits: true,
        lease: LeaseScope::Hold,
        longest_lease: Duration::MAX,
        longest_detached_read_write: Duration::MAX,
        longest_keep: Duration::MAX,
        calls_outlive_drop: true,
        notices_death: false,
        raise: true,
        together: true,
        detach: true,
        slot_records: true,
        history: true,
        kinds_may_mix: limits.kinds_may_mix,
        incarnation: true,
        tells_evictions: false,
        tells_release_requests: false,
        position_ttl: limits.position_ttl,
        place_back: true,
        claim_window: limits.claim_window,
        max_waiters: limits.max_waiters,
        max_holders: limits.max_holders,
        reasons: Reasons::NONE,
    }
}
