//! What the store says that it can do.

use std::time::Duration;

use tenure_core::{
    proto::time::floor_millis,
    store::{Capabilities, LeaseScope, Reason, Reasons},
};

use crate::options::{Layout, RedisOptions};

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
    match (options.layout.layout, options.scripts) {
        (Layout::Tenure, true) => all,
        (Layout::Tenure, false) => one_holder(all, &WITHOUT_SCRIPTS),
        // The key keeps no token that came from elsewhere.
        (Layout::Plain, _) => Capabilities { raise: false, ..one_holder(all, &PLAIN) },
        (Layout::Redisson, _) if options.layout.fenced_tokens => redisson(one_holder(all, &FENCED)),
        (Layout::Redisson, _) => {
            let max_holders = all.max_holders;
            let without_queue = one_holder(all, &REDISSON);
            let reasons = Reasons { shared: None, ..without_queue.reasons };
            // Nobody would renew it before Redisson's watchdog of readers sets the ttl to its own timeout.
            let longest = floor_millis(options.layout.lock_watchdog_timeout);
            let longest_detached_read_write = Duration::from_millis(longest);
            redisson(Capabilities {
                shared: true,
                longest_detached_read_write,
                reasons,
                max_holders,
                ..without_queue
            })
        }
    }
}

/// What Redisson's keys do not keep. Nobody else knows of an owner that has let go, nor whether others wait, so each
/// turn is asked for at the server.
fn redisson(with: Capabilities) -> Capabilities {
    Capabilities {
        pass_bits: false,
        longest_keep: Duration::ZERO,
        raise: false,
        kinds_may_mix: false,
        ..with
    }
}

/// Why there are only mutexes.
struct Refusals {
    shared: &'static str,
    permits: &'static str,
    fifo: &'static str,
    help: &'static str,
}

const WITHOUT_SCRIPTS: Refusals = Refusals {
    shared: "without scripts this store does not support shared locks",
    permits: "without scripts this store does not support semaphores",
    fifo: "without scripts this store keeps no queue, so it cannot be fair",
    help: "leave scripts=no out of the URL, as a user that may run scripts; or use a mutex",
};

const PLAIN: Refusals = Refusals {
    shared: "in the plain layout a lock has one holder, so there are no shared locks",
    permits: "in the plain layout a lock has one holder, so there are no semaphores",
    fifo: "the plain layout has no queue, so it cannot be fair",
    help: "use a mutex, or leave layout=plain out if no other library uses this lock",
};

const REDISSON: Refusals = Refusals {
    shared: "",
    permits: "in Redisson's layout there are no semaphores: a crash of a Redisson client that holds permits loses them for ever",
    fifo: "in Redisson's layout there is no queue, so it cannot be fair: the order of RFairLock depends on the clocks of its clients",
    help: "use a mutex or a read-write lock, or leave layout=redisson out if no Java program uses this lock",
};

const FENCED: Refusals = Refusals {
    shared: "RFencedLock has one holder, so with tokens=fenced there are no shared locks",
    help: "use a mutex, or leave tokens=fenced out if no Java program uses RFencedLock for this lock",
    ..REDISSON
};

pub(crate) const NO_HISTORY: Reason = Reason {
    what: "a history of locks is kept only in tenure's own layout, and by scripts",
    help: "leave layout and scripts=no out of the URL, or use another store",
};

pub(crate) const NO_SLOT_RECORDS: Reason = Reason {
    what: "the slots that were run are recorded only in tenure's own layout, and by scripts",
    help: "leave layout and scripts=no out of the URL, or use another store to run something once per slot",
};

/// One record for one holder, and no queue.
fn one_holder(all: Capabilities, why: &Refusals) -> Capabilities {
    let reason = |what| Some(Reason { what, help: why.help });
    Capabilities {
        shared: false,
        permits: false,
        fifo: false,
        handoff: false,
        implicit_handoff: false,
        together: false,
        slot_records: false,
        history: false,
        position_ttl: Duration::ZERO,
        place_back: false,
        claim_window: Duration::ZERO,
        max_waiters: 0,
        max_holders: 1,
        reasons: Reasons {
            shared: reason(why.shared),
            permits: reason(why.permits),
            fifo: reason(why.fifo),
            detach: None,
            slot_records: Some(NO_SLOT_RECORDS),
            history: Some(NO_HISTORY),
        },
        ..all
    }
}
