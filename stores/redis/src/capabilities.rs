//! What the store says that it can do.

use std::time::Duration;

use tenure_core::store::{Capabilities, LeaseScope, Reasons};

use crate::{RedisOptions, options::Deployment};

pub(crate) fn capabilities(options: &RedisOptions) -> Capabilities {
    let limits = &options.limits;
    // One of its nodes may be replaced by a replica that lacks something, and the cluster is the same.
    let incarnation = !matches!(options.deployment, Deployment::Cluster(_));
    Capabilities {
        shared: true,
        permits: true,
        fifo: true,
        handoff: true,
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
        incarnation,
        tells_evictions: true,
        place_ttl: limits.place_ttl,
        claim_window: limits.claim_window,
        max_waiters: limits.max_waiters,
        max_holders: limits.max_holders,
        reasons: Reasons::NONE,
    }
}
