//! What the store says that it can do.

use std::time::Duration;

use tenure_core::store::{Capabilities, LeaseScope, Reason, Reasons};

use crate::options::RedisOptions;

const CURE: &str =
    "leave scripts=no out of the URL, as a user that may run scripts; or use a mutex";

pub(crate) fn capabilities(options: &RedisOptions) -> Capabilities {
    let limits = &options.limits;
    // One of its nodes may be replaced by a replica that lacks something, and the cluster is the same.
    let incarnation = !options.deployment.is_cluster();
    let all = Capabilities {
        shared: true,
        permits: true,
        fifo: true,
        handoff: true,
        implicit_handoff: false,
        pass_bits: true,
        lease: LeaseScope::Hold,
        longest_lease: Duration::MAX,
        longest_keep: Duration::MAX,
        calls_outlive_drop: true,
        notices_death: false,
        raise: true,
        together: true,
        detach: true,
        kinds_may_mix: limits.kinds_may_mix,
        incarnation,
        tells_evictions: true,
        tells_release_requests: false,
        position_ttl: limits.position_ttl,
        place_back: true,
        claim_window: limits.claim_window,
        max_waiters: limits.max_waiters,
        max_holders: limits.max_holders,
        reasons: Reasons::NONE,
    };
    if options.scripts { all } else { without_scripts(all) }
}

/// One record for one holder, and no line.
fn without_scripts(all: Capabilities) -> Capabilities {
    let reason = |what| Some(Reason { what, help: CURE });
    Capabilities {
        shared: false,
        permits: false,
        fifo: false,
        handoff: false,
        implicit_handoff: false,
        together: false,
        position_ttl: Duration::ZERO,
        place_back: false,
        claim_window: Duration::ZERO,
        max_waiters: 0,
        max_holders: 1,
        reasons: Reasons {
            shared: reason("without scripts this store does not support shared locks"),
            permits: reason("without scripts this store does not support semaphores"),
            fifo: reason("without scripts this store keeps no queue, so it cannot be fair"),
            detach: None,
        },
        ..all
    }
}
