//! What ZooKeeper can do.

use std::time::Duration;

use tenure_core::store::{Capabilities, LeaseScope, Reason, Reasons};

use crate::{
    ZookeeperOptions,
    contenders::{
        layout::{NO_PERMITS, NO_READERS},
        node::Layout,
    },
    validity,
};

const NO_DETACHING: Reason = Reason {
    what: "on ZooKeeper a hold belongs to the session that acquired it, and ends with it",
    help: "release it, and lock again where the work continues; or use another store",
};

const NO_HISTORY: Reason = Reason {
    what: "ZooKeeper keeps no history of locks: what is written there burdens every server of it",
    help: "use Redis, PostgreSQL, MySQL or the embedded store, or the metrics and logs of the holders",
};

const NO_SLOT_RECORDS: Reason = Reason {
    what: "ZooKeeper tells its clients no time of day, by which all hosts would see the same slot",
    help: "use Redis, PostgreSQL, MySQL or the embedded store to run something once per slot",
};

pub(crate) fn capabilities(options: &ZookeeperOptions) -> Capabilities {
    Capabilities {
        shared: options.has_readers(),
        permits: options.layout == Layout::Curator,
        fifo: true,
        handoff: true,
        implicit_handoff: true,
        pass_bits: options.tokens.has_pass_bits(),
        lease: LeaseScope::Session {
            longest: validity::guaranteed_validity(options.session, options.tick),
        },
        // However long it is, it ends with the session.
        longest_lease: Duration::MAX,
        longest_detached_read_write: Duration::MAX,
        longest_keep: Duration::ZERO,
        calls_outlive_drop: true,
        notices_death: false,
        raise: false,
        together: false,
        detach: false,
        slot_records: false,
        history: false,
        kinds_may_mix: options.layout == Layout::Kazoo,
        incarnation: false,
        tells_evictions: true,
        tells_release_requests: true,
        position_ttl: options.session,
        place_back: false,
        claim_window: options.session,
        max_waiters: options.max_waiters,
        max_holders: options.max_holders,
        reasons: Reasons {
            shared: (!options.has_readers()).then_some(NO_READERS),
            permits: (options.layout == Layout::Kazoo).then_some(NO_PERMITS),
            detach: Some(NO_DETACHING),
            slot_records: Some(NO_SLOT_RECORDS),
            history: Some(NO_HISTORY),
            ..Reasons::NONE
        },
    }
}
