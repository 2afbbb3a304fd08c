//! Why a lock cannot be used, whatever its server does.

use std::time::Duration;

use tenure_core::{Fault, FaultKind, proto::queue::Kind};

/// What the store keeps of a name makes no sense.
pub(crate) fn corrupt(place: &str) -> Fault {
    let what = format!("what Redis at {place} keeps of this lock makes no sense");
    let help = "see which program writes or evicts these keys, such as another version of tenure \
                (https://github.com/tenure-rs/tenure/blob/main/docs/upgrading.md#redis); `tenure break` frees the lock, https://github.com/tenure-rs/tenure/blob/main/docs/stores/redis.md says when a clock has \
                to be deleted";
    Fault::new(FaultKind::Corrupt, what, help)
}

/// Something else lies at the key of what is kept beside a lock.
pub(crate) fn other_data(place: &str, key: &str, what: &str) -> Fault {
    let what = format!("{key} on Redis at {place} is no {what}: other data is stored there");
    let help =
        "see which program writes this key; then delete it, or choose another prefix in the URL";
    Fault::new(FaultKind::Corrupt, what, help)
}

/// Without scripts nothing can be done to a lock that others share or wait for.
pub(crate) fn crowded(place: &str) -> Fault {
    let what = format!(
        "other clients share a lock on Redis at {place}, or wait for it, with scripts: without \
         scripts it cannot be used or shown"
    );
    Fault::new(FaultKind::Unsupported, what, "use a user that may run scripts")
}

/// Something else lies at the key of a lock of the plain layout.
pub(crate) fn other_type(place: &str) -> Fault {
    let what =
        format!("the key of this lock on Redis at {place} is no string, so it is no plain lock");
    let help = "choose another name or key_prefix; Redisson's locks are hashes: share them with layout=redisson";
    Fault::new(FaultKind::Misconfigured, what, help)
}

/// Something else lies at the key of a lock of Redisson's layout.
pub(crate) fn no_redisson_lock(place: &str) -> Fault {
    let what = format!("the key of this lock on Redis at {place} is no lock of Redisson's");
    let help = "choose another name or key_prefix; with layout=plain tenure uses strings as locks";
    Fault::new(FaultKind::Misconfigured, what, help)
}

/// A name is one kind of lock.
pub(crate) fn other_kind(place: &str) -> Fault {
    let what = format!(
        "this name on Redis at {place} is used as another kind of lock, and Redisson's RLock and RReadWriteLock do not exclude each other"
    );
    let help = "for a read-write lock use rwlock(), or tenure run with --shared or --write; otherwise choose another name";
    Fault::new(FaultKind::Misconfigured, what, help)
}

/// Redisson's fair lock has a queue under this name.
pub(crate) fn fair_queue(place: &str) -> Fault {
    let what = format!(
        "programs wait for this lock on Redis at {place} with Redisson's RFairLock, whose order depends on the clocks of its clients: tenure takes no part in it"
    );
    let help = "use RLock in the Java programs, or another name; if no program waits any more, delete redisson_lock_queue:{NAME} and redisson_lock_timeout:{NAME}";
    Fault::new(FaultKind::Misconfigured, what, help)
}

/// Redisson's fenced lock issues the tokens of this name.
pub(crate) fn fenced_counter(place: &str) -> Fault {
    let what = format!(
        "this name on Redis at {place} is used with Redisson's RFencedLock, whose tokens are much smaller than tenure's: a fence would refuse its holders for ever"
    );
    Fault::new(
        FaultKind::Misconfigured,
        what,
        "add tokens=fenced; or choose another name; or, if no program uses RFencedLock for it, delete redisson_lock_token:{NAME}",
    )
}

/// Redisson's own keys of a lock with this key would be in several slots.
pub(crate) fn torn_by_braces(place: &str) -> Fault {
    let what = format!(
        "the key of this lock on Redis at {place} has braces that are no hash tag: in a cluster Redisson would keep parts of the lock on other nodes"
    );
    Fault::new(
        FaultKind::Misconfigured,
        what,
        "choose a name or key_prefix without braces, or with one hash tag, as in {orders}:42",
    )
}

/// Redisson has no such lock, or none that can be shared with it safely.
pub(crate) fn no_counterpart(kind: Kind) -> Fault {
    let what = format!("in Redisson's layout there is no {kind} that tenure can share safely");
    let help = "use a mutex or a read-write lock, or tenure's own layout";
    Fault::new(FaultKind::Unsupported, what, help)
}

/// Redisson's watchdog of readers would cut it short.
pub(crate) fn too_long_without_process(longest: Duration) -> Fault {
    let what = format!(
        "in Redisson's layout a hold of a read-write lock lasts {longest:?} at most without a process that renews it"
    );
    let help = "choose a shorter time, or a mutex; or raise lock_watchdog_timeout in the URL and in all Java programs";
    Fault::new(FaultKind::Misconfigured, what, help)
}

/// The owner that has let go is not known to others.
pub(crate) fn no_keeping() -> Fault {
    let what = "in Redisson's layout no name stays taken after its release";
    Fault::new(FaultKind::Unsupported, what, "leave the keep out, or use tenure's own layout")
}

/// A string without a ttl may be no lock.
pub(crate) fn never_ends(place: &str) -> Fault {
    let what = format!(
        "the key of this lock on Redis at {place} never expires or has a long value, so it may be no lock at all"
    );
    Fault::new(
        FaultKind::Misconfigured,
        what,
        "look at the key; if it is a lock that is held no longer, delete it with DEL",
    )
}

/// The key of this name is one of tenure's own.
pub(crate) fn own_key(place: &str) -> Fault {
    let what = format!(
        "the key of this lock on Redis at {place} is one of those that tenure or Redisson keeps something else in"
    );
    Fault::new(FaultKind::Misconfigured, what, "choose another name, key_prefix or prefix")
}

/// Several plain keys are asked for one by one.
pub(crate) fn not_together(why: &str) -> Fault {
    let what = format!("{why} several names are not acquired in one step");
    Fault::new(FaultKind::Unsupported, what, "ask for them one by one")
}

/// What a server says to a transaction, where that means something else than for a script: a transaction that
/// lacks anything does nothing.
pub(crate) fn of_transaction(place: &str, code: Option<&str>) -> Option<Fault> {
    let (kind, what, help) = match code? {
        "OOM" => (
            FaultKind::Unreachable,
            "is out of memory",
            "raise its maxmemory or remove data: until then nothing is acquired without scripts, and Redis 7 renews and releases nothing either",
        ),
        "NOPERM" => (
            FaultKind::Misconfigured,
            "does not permit this user what a lock without scripts needs",
            "give it the ACL line of https://github.com/tenure-rs/tenure/blob/main/docs/stores/redis-without-scripts.md, and +wait for replicas=",
        ),
        _ => return None,
    };
    Some(Fault::new(kind, format!("Redis at {place} {what}"), help))
}

/// Of what only looked, whatever became of it.
pub(crate) fn without_effect(fault: Fault) -> Fault {
    if fault.kind() != FaultKind::InDoubt {
        return fault;
    }
    Fault::new(FaultKind::Unreachable, fault.message_and_cause(), fault.help().to_owned())
}

/// Others wrote the same keys each time. Nothing was written.
pub(crate) fn overtaken(place: &str) -> Fault {
    let what = format!("other clients keep writing to the keys of this lock on Redis at {place}");
    let help = "try again; with this many clients, let them use scripts";
    Fault::new(FaultKind::Unreachable, what, help)
}

/// The server granted something, and what cannot be read.
pub(crate) fn unreadable(place: &str) -> Fault {
    let what = format!("Redis at {place} sent a grant that cannot be read");
    Fault::new(
        FaultKind::InDoubt,
        what,
        "see which program writes these keys, such as another version of tenure \
         (https://github.com/tenure-rs/tenure/blob/main/docs/upgrading.md#redis)",
    )
}

/// A token after which there would be no greater one.
pub(crate) fn last_token(place: &str) -> Fault {
    let what = format!("Redis at {place} can issue no token greater than this one");
    Fault::new(FaultKind::Misconfigured, what, "find out where this large token comes from")
}

/// A walk over the keys that goes on beyond all that can be there.
pub(crate) fn endless(place: &str) -> Fault {
    let what = format!("Redis at {place} lists more keys than it has");
    let help =
        "check which proxies are between this process and the server, and whether SCAN ends there";
    Fault::new(FaultKind::Corrupt, what, help)
}
