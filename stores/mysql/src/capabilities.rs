//! What the store says that it can do.

use std::time::Duration;

use tenure_core::store::{Capabilities, LeaseScope, Reasons};

use crate::MysqlOptions;

pub(crate) fn capabilities(options: &MysqlOptions) -> Capabilities {
    let limits = &options.sql.limits;
    Capabilities {
        shared: true,
        permits: true,
        fifo: true,
        handoff: true,
        implicit_handoff: false,
        pass_bits: true,
        lease: LeaseScope::Hold,
        longest_lease: Duration::MAX,
        longest_keep: Duration::MAX,
        late_calls: true,
        notices_death: false,
        raise: true,
        together: true,
        detach: true,
        kinds_meet: limits.kinds_meet,
        incarnation: true,
        tells_evictions: false,
        tells_release_requests: false,
        place_ttl: limits.place_ttl,
        place_back: true,
        claim_window: limits.claim_window,
        max_waiters: limits.max_waiters,
        max_holders: limits.max_holders,
        reasons: Reasons::NONE,
    }
}
