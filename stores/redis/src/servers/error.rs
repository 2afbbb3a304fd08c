//! Why no server could be used for a lock, of those that there are.

use tenure_core::{Fault, FaultKind};

use crate::client::{
    ConnectStep, Failure,
    error::{MOVING, of_step, said},
};

/// What it means that a sentinel does not answer. Nothing was sent that could have had an effect.
pub(crate) fn of_sentinel(place: &str, step: ConnectStep, error: Failure) -> Fault {
    let (what, help) = match error.code() {
        Some("NOAUTH") => ("wants a password", "put it into the URL: sentinel_password=…"),
        Some("WRONGPASS") => (
            "refuses this user and password",
            "correct sentinel_user= and sentinel_password= in the URL, percent-encoded, or where they are read from",
        ),
        Some("NOPERM") => (
            "does not permit this user to ask for the primary",
            "give it the ACL line for sentinels of https://github.com/tenure-rs/tenure/blob/main/docs/stores/redis-sentinel.md",
        ),
        _ => return of_step(place, step, error),
    };
    let what = format!("the sentinel at {place} {what}");
    Fault::new(FaultKind::Misconfigured, what, help).because(said(error))
}

/// Which server has the locks was known for a shorter time than connecting to it took.
pub(crate) fn not_known_for_long_enough(place: &str) -> Fault {
    let what = format!("the primary of {place} has not been known for long enough to be used");
    let help =
        "wait for the failover to end; if it lasts, raise the sentinels' down-after-milliseconds";
    Fault::new(FaultKind::Unreachable, what, help)
}

/// Each node of a cluster that was asked said that another one has the lock. None did anything.
pub(crate) fn sent_around(place: &str, failure: Failure) -> Fault {
    let what = format!("the nodes of {place} do not agree on which node has the slot of this lock");
    let help = "wait until they do; if it lasts, compare their CLUSTER NODES";
    Fault::new(FaultKind::Unreachable, what, help).because(said(failure))
}

/// It gets a slot, and can do less than one that has it.
pub(crate) fn moving(place: &str) -> Fault {
    let what = format!("Redis at {place} {MOVING}");
    Fault::new(FaultKind::Unreachable, what, "wait until it has moved")
}

/// Another node than the one that is known listens there, or it has become a replica.
pub(crate) fn another_node(place: &str) -> Fault {
    let what = format!("Redis at {place} is no longer the primary");
    Fault::new(FaultKind::Unreachable, what, "wait for the failover to end; see CLUSTER NODES")
}

/// Whether the slot is on its way to another node, and keys of one call are in two places.
pub(crate) fn is_moving(fault: &Fault) -> bool {
    fault.message().ends_with(MOVING)
}

/// What it means that a server refuses to list its keys.
pub(crate) fn of_scan(place: &str, error: &Failure) -> Option<Fault> {
    let is_unknown = error.detail().is_some_and(|detail| detail.contains("unknown command"));
    (error.code() == Some("NOPERM") || is_unknown).then(|| {
        let what = format!("Redis at {place} does not let this user list names");
        let help = "grant this user the command SCAN (ACL SETUSER … +scan); only listing needs it";
        Fault::new(FaultKind::Misconfigured, what, help).because(error.to_string())
    })
}
