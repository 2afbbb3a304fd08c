//! The contract between tenure and a store.
//!
//! An author of a store implements every method except [`Store::server`], [`Store::db_system`], [`Store::read_slots`],
//! [`Store::write_slots`], [`Store::read_history`] and [`Store::add_history`], which have a default. The clauses below
//! are numbered, and the conformance suite of `tenure-testkit` proves each of them.
//! [docs/stores/contract.md](https://github.com/tenure-rs/tenure/blob/main/docs/stores/contract.md) maps them onto real
//! stores. [`NameState`](tenure_proto::queue::NameState) is their meaning in code.
//!
//! 1. **Repeating is harmless.** An acquire that is repeated with the same owner and mode returns the same token and
//!    the rest of the lease. It never extends the lease of a hold. An exclusive holder that asks for the shared mode
//!    keeps its lease and token, and lets other readers in at once. Every other change of mode is refused and changes
//!    nothing.
//! 2. **Try leaves nothing behind; Wait keeps a queue position** for one position TTL after each acquire. If an owner
//!    was passed over as absent and asks again within that time, it gets its original position back. `retry_after` is
//!    the latest time to ask again. A store without a queue answers a wait like a try.
//! 3. **A hand-off is claimed.** A release offers the name to the next waiter for one claim window and sends it a hint.
//!    The acquire that claims the name sets the full ttl. An offer that is not claimed passes on. A message never makes
//!    a holder: only the answer to its own acquire does.
//! 4. **A release lets in all that fit**: one writer, all leading readers, or as many takers of permits as there is
//!    room for.
//! 5. **A renewal never shortens, claims or creates**, and it answers for each hold separately. If one part of the
//!    store does not answer, only its holds are `Unknown`.
//! 6. **A release is idempotent**, and also gives up a queue position. With `keep`, the name stays taken for that time,
//!    whatever happens to the process, and cannot be renewed any more. Until then, the same owner gets no grant and
//!    keeps no position: an owner exists only once.
//! 7. **Only your own.** No call affects the lease or position of another owner, except [`Store::evict`] and
//!    [`Store::evict_hold`]. The latter compares and removes in one step, and leaves a hold alone that changed since it
//!    was inspected.
//! 8. **Tokens rise** with each grant of a name, also after a release, an eviction or an expiry. Shared grants have no
//!    order among themselves, and the token of a permit only tells permits apart. [`Store::raise`] writes a greater
//!    token into a hold, and later grants exceed that one too.
//! 9. **First come, first served** for [`Order::Fifo`](tenure_proto::queue::Order::Fifo), among the contenders that are
//!    present.
//! 10. **A turn is one step** in a store with a queue. The owner releases, the waiters come first, and `ask.owner`,
//!     which is another owner, asks. If there are no waiters, that owner gets a new grant with a fresh token. A
//!     repeated turn is answered like a repeated acquire. Without a queue, a turn may be two steps.
//! 11. **Faults say whether they may have taken effect.** A missing answer is [`InDoubt`](crate::FaultKind::InDoubt).
//!     `calls_outlive_drop` says whether a call can take effect after its future was dropped.
//! 12. **Any runtime.** Methods are called from any tokio runtime, several at a time, and also from a runtime that soon
//!     ends. [`Store::for_engine`] returns the store that tenure's own thread calls, and nothing in it may block that
//!     thread.
//! 13. **Capabilities are values.** A store declares what it cannot do, and answers
//!     [`Unsupported`](crate::FaultKind::Unsupported) if it is asked anyway.
//! 14. **Together or not at all.** [`Store::acquire_together`] grants each of several names as a try would, or none of
//!     them, in one step of which no other call sees a part. It keeps no position and passes no contender that a try
//!     would not pass. Repeating it is harmless, as in clause 1. [`Apart`](Together::Apart) means that these names must
//!     be asked for one by one. Any answer but a grant, and any fault that is not in doubt, leaves each name as it was.
//! 15. **A loss of memory shows.** [`Store::incarnation`] is the same for all clients and calls as long as the store
//!     certainly keeps what it answered. If the store may have forgotten a part, it is a new one that was never seen
//!     before. It describes the store that answers now, so two calls with the same result vouch for every answer
//!     between them. Deleted data is not a loss.
//! 16. **One name, one kind.** [`Ask::kind`] says how a name is used, and `inspect` shows it for each contender. Only
//!     the modes decide which holders exclude each other. But if [`Capabilities::kinds_may_mix`] is `false`, an acquire
//!     is refused as [`Misconfigured`](crate::FaultKind::Misconfigured), and changes nothing, while others hold the
//!     name or wait for it as another kind.
//! 17. **Evictions are reported.** [`Store::evict`] and [`Store::evict_hold`] send a hint to every process that held
//!     the name, if the store can. Its [`Evictions`] then return the name, or that hints were missed, and the process
//!     soon renews its holds of that name. A message never ends a hold: only the answer to its own renewal does. A hint
//!     contains nothing that proves an acquisition. If other programs can ask a holder to release, its process receives
//!     that in the same way, with the owner: a *release request*. It ends nothing, and is repeated from time to time
//!     while the hold lasts.
//! 18. **A hold changes hands in one step.** [`Store::take_over`] gives the hold of one owner to another, in the same
//!     mode, with a greater token and a new lease from now on. Waiters continue to wait. The old owner holds nothing
//!     afterwards, so of several that take over from it, one succeeds. From an owner that holds nothing, nothing is
//!     taken over. Repeating it is harmless, as in clause 1. A *detached* hold belongs to no process. The end of a
//!     process never frees it, even in a store that notices deaths. It ends with its lease, a release or an eviction.
//! 19. **The record of the slots outlives its holders.** [`Store::write_slots`] replaces the record of a name in one step
//!     with the check that this owner holds the name alone, and that the record is the one to be replaced, or already
//!     the new one. Otherwise it changes nothing. The record stays for the time that was given with it, whatever happens
//!     to holders and processes, as long as the store keeps its data; then it is gone. [`Store::read_slots`] returns what
//!     was written last, and the store's time of day. Repeating is harmless, also late.
//! 20. **A history is beside the lock.** [`Store::add_history`] adds events to those of a name, with the store's time of
//!     day less the time that has passed since. It affects no hold and no position, and no other call depends on it.
//!     Events of which the retention keeps none are gone after that: the oldest ones beyond the number that it allows,
//!     those older than its time, and all of them that time after the last was added. [`Store::read_history`] returns
//!     what is left, and may still return what is too old.

mod certificates;
mod diagnostic;
mod evictions;
mod fault;
mod hints;
mod histories;
mod history;
mod lease_scope;
mod memory;
mod slot_records;

use std::{collections::BTreeSet, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
pub use certificates::certificate_cure;
pub use diagnostic::{BadSeverity, Diagnostic, Severity};
pub use evictions::{Eviction, Evictions};
pub use fault::{Fault, FaultKind};
pub use hints::{HintBoard, Wakeups};
pub use history::{HistoryWrite, StoredHistory, no_history};
pub use lease_scope::LeaseScope;
pub use memory::{MemoryStore, Saved};
pub use slot_records::{SlotsWrite, SlotsWritten, StoredSlots, check_slot_record, no_slot_records};
pub use tenure_proto::Owner;
use tenure_proto::{
    HoldId, Incarnation, Renewed, Token,
    all::MOST,
    queue::{
        Answer, Ask, Contender, Kind, Raised, Released, Snapshot, TakeOver, TakenOver, Together,
    },
};

use crate::LockName;

/// What a store can do. The conformance suite checks each declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether a name can be held in [`Shared`](tenure_proto::queue::Mode::Shared) mode, and an exclusive hold can
    /// become a shared one.
    pub shared: bool,
    /// Whether a name can be held by [`Permits`](tenure_proto::queue::Mode::Permits).
    pub permits: bool,
    /// Whether the store keeps a queue and grants in its order. Without a queue, nothing is offered, `position` is
    /// `None`, and the three figures of the queue below are zero.
    pub fifo: bool,
    /// Whether a release itself offers the name to the next waiter, so that no newcomer gets it in between.
    pub handoff: bool,
    /// Whether the store counts the next waiter as the holder before that waiter claims the name. The waiter is then
    /// shown as a holder, and delays the others until its queue position ends.
    pub implicit_handoff: bool,
    /// Whether its tokens leave room for hand-overs inside a process.
    pub pass_bits: bool,
    /// Whether a lease belongs to one hold, or to all holds of a session together.
    pub lease: LeaseScope,
    /// The longest lease that the store grants, grace included. It refuses a longer one.
    pub longest_lease: Duration,
    /// The longest lease of a detached hold of a read-write lock, if it is shorter. The store refuses a longer one.
    pub longest_detached_read_write: Duration,
    /// The longest time for which the store can keep a name taken after a release, without the process. Zero if it
    /// cannot.
    pub longest_keep: Duration,
    /// Whether a call can take effect after its future was dropped.
    pub calls_outlive_drop: bool,
    /// Whether the end of a process frees its holds before their leases end.
    pub notices_death: bool,
    /// Whether [`Store::raise`] works.
    pub raise: bool,
    /// Whether [`Store::acquire_together`] works.
    pub together: bool,
    /// Whether [`Store::take_over`] works, and a hold can belong to no process.
    pub detach: bool,
    /// Whether [`Store::write_slots`] and [`Store::read_slots`] work.
    pub slot_records: bool,
    /// Whether [`Store::add_history`] and [`Store::read_history`] work.
    pub history: bool,
    /// Whether one name can be used as several kinds of lock at a time, with exclusion decided by the modes alone. If
    /// not, an acquire as another kind is refused as [`Misconfigured`](crate::FaultKind::Misconfigured).
    pub kinds_may_mix: bool,
    /// Whether [`Store::incarnation`] works.
    pub incarnation: bool,
    /// Whether [`Store::evictions`] reports evictions. Otherwise, an evicted holder learns at its next renewal, a third
    /// of its ttl later at most, or at the end of a hold that needs no renewal.
    pub tells_evictions: bool,
    /// Whether [`Store::evictions`] reports the release requests of other libraries. Those of tenure need no such
    /// report: holders read them.
    pub tells_release_requests: bool,
    /// How long the store keeps a queue position unless the waiter asks again.
    pub position_ttl: Duration,
    /// Whether a queue position that ended is given back to a waiter that names it.
    pub place_back: bool,
    /// The time that a waiter has to claim the name that it is offered.
    pub claim_window: Duration,
    /// The maximum number of waiters for one name.
    pub max_waiters: usize,
    /// The maximum number of holders of one name. Others wait.
    pub max_holders: usize,
    /// Reasons for what the store lacks, for users, if there is more to say.
    pub reasons: Reasons,
}

/// Why a store cannot do something, and what its users can do instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The reason.
    pub what: &'static str,
    /// What a user can do.
    pub help: &'static str,
}

/// A store's reasons for the capabilities that it declares as `false` in its [`Capabilities`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reasons {
    /// Why there is no `shared` mode.
    pub shared: Option<Reason>,
    /// Why there are no `permits`.
    pub permits: Option<Reason>,
    /// Why it is not `fifo`.
    pub fifo: Option<Reason>,
    /// Why it cannot `detach`.
    pub detach: Option<Reason>,
    /// Why it keeps no `slot_records`.
    pub slot_records: Option<Reason>,
    /// Why it keeps no `history`.
    pub history: Option<Reason>,
}

impl Reasons {
    /// No reasons beyond the missing capabilities themselves.
    pub const NONE: Self = Self {
        shared: None,
        permits: None,
        fifo: None,
        detach: None,
        slot_records: None,
        history: None,
    };
}

impl Capabilities {
    /// Why a name cannot be shared, if it cannot.
    pub(crate) fn missing_shared_mode(&self) -> Option<Reason> {
        const NO: Reason = Reason {
            what: "this store does not support shared locks",
            help: "use a mutex, or another store",
        };
        (!self.shared).then(|| self.reasons.shared.unwrap_or(NO))
    }

    /// Why there are no permits, if there are none.
    pub(crate) fn missing_permits(&self) -> Option<Reason> {
        const NO: Reason = Reason {
            what: "this store does not support semaphores",
            help: "use a mutex, or another store",
        };
        (!self.permits).then(|| self.reasons.permits.unwrap_or(NO))
    }

    /// Why no order can be requested, if none can.
    pub(crate) fn missing_order(&self) -> Option<Reason> {
        const NO: Reason = Reason {
            what: "this store keeps no queue, so it cannot be fair",
            help: "leave out fair()",
        };
        (!self.fifo).then(|| self.reasons.fifo.unwrap_or(NO))
    }

    /// Why a grace of this length is impossible, if it is. If a session limits the lease, the grace can be at most half
    /// of the limit.
    pub(crate) fn grace_fault(&self, grace: Duration) -> Option<Fault> {
        let LeaseScope::Session { longest } = self.lease else { return None };
        (grace > longest / 2).then(|| {
            let what = format!(
                "a grace of {grace:?} does not fit this store, where a session leaves {longest:?} of a lease at \
                 most"
            );
            let help = format!("choose a grace of at most {:?}, or a longer session", longest / 2);
            Fault::new(FaultKind::Misconfigured, what, help)
        })
    }

    /// The longest lease of a detached hold of this kind of lock.
    #[must_use]
    pub fn longest_detached_lease(&self, kind: Kind) -> Duration {
        match kind {
            Kind::ReadWrite => self.longest_lease.min(self.longest_detached_read_write),
            _ => self.longest_lease,
        }
    }

    /// Why no hold can change hands, if none can.
    pub(crate) fn missing_detaching(&self) -> Option<Reason> {
        (!self.detach).then(|| self.reasons.detach.unwrap_or(NO_DETACHING))
    }
}

const NO_DETACHING: Reason = Reason {
    what: "in this store no hold outlives its process or changes hands",
    help: "release it, and lock again where the work continues; or use another store",
};

impl From<Reason> for Fault {
    fn from(Reason { what, help }: Reason) -> Self {
        Self::new(FaultKind::Unsupported, what, help)
    }
}

/// One hold that is to be renewed.
#[derive(Clone, Debug)]
pub struct Renewal {
    /// The lock's name.
    pub name: LockName,
    /// Proof of the acquisition.
    pub owner: Owner,
    /// The shortest time for which the lease is to last from now on, grace included.
    pub ttl: Duration,
}

/// Some of the names in use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing {
    /// Names with at least one contender, in order, each with its contenders.
    pub names: Vec<(LockName, Snapshot)>,
    /// Whether there were more names than requested.
    pub more: bool,
    /// Why other names may be missing, each reason once: servers that cannot be asked now.
    pub missing: Vec<String>,
}

impl Listing {
    /// Makes a list of these names; `more` says whether there were more than requested.
    #[must_use]
    pub const fn new(names: Vec<(LockName, Snapshot)>, more: bool) -> Self {
        Self { names, more, missing: Vec::new() }
    }
}

impl IntoIterator for Listing {
    type Item = (LockName, Snapshot);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.names.into_iter()
    }
}

impl<'a> IntoIterator for &'a Listing {
    type Item = &'a (LockName, Snapshot);
    type IntoIter = std::slice::Iter<'a, (LockName, Snapshot)>;

    fn into_iter(self) -> Self::IntoIter {
        self.names.iter()
    }
}

/// A system that keeps leases. The contract is in the [module's documentation](self).
#[async_trait]
pub trait Store: fmt::Debug + Send + Sync + 'static {
    /// Returns the kind of store in one word: `memory`, `file`, `redis`.
    fn kind(&self) -> &'static str;

    /// Returns the store's product by its name in OpenTelemetry's `db.system.name`, such as `postgresql`. `None` if
    /// OpenTelemetry has no name for it.
    fn db_system(&self) -> Option<&'static str> {
        None
    }

    /// Returns the store's full location, as people may see it: its URL, if it has one, and never a password.
    fn location(&self) -> String;

    /// Returns what the store can do.
    fn capabilities(&self) -> &Capabilities;

    /// Returns the same store for calls from tenure's own thread. It has separate connections and never blocks that
    /// thread.
    fn for_engine(&self) -> Arc<dyn Store>;

    /// Registers for the wake-ups of one waiter. This is called before its first acquire.
    fn wakeups(&self, name: &LockName, owner: &Owner) -> Wakeups;

    /// Returns the evictions and release requests that this process receives from now on (clause 17), for one engine.
    /// For a store that reports none, they are silent.
    fn evictions(&self) -> Evictions;

    /// Asks for a name (clauses 1, 2, 3, 8, 9).
    async fn acquire(&self, name: &LockName, ask: &Ask) -> Result<Answer, Fault>;

    /// Asks for several names in one step (clause 14): one to [`MOST`], each once, and each with a separate owner. The
    /// store ignores whether an ask waits.
    async fn acquire_together(&self, asks: &[(LockName, Ask)]) -> Result<Together, Fault>;

    /// Renews holds and returns one answer for each, in the same order (clause 5). After a failure it is unknown
    /// whether the hold was renewed, so [`Renewed::Unknown`] is never an answer.
    async fn renew(&self, holds: &[Renewal]) -> Vec<Result<Renewed, Fault>>;

    /// Gives up a hold or a queue position (clauses 4, 6).
    async fn release(
        &self,
        name: &LockName,
        owner: &Owner,
        keep: Duration,
    ) -> Result<Released, Fault>;

    /// Releases the hold, lets the waiters come first, and queues again, in one step (clause 10).
    async fn turn(&self, name: &LockName, owner: &Owner, ask: &Ask) -> Result<Answer, Fault>;

    /// Gives the hold of `over.from` to `over.owner`, in one step (clause 18).
    async fn take_over(&self, name: &LockName, over: &TakeOver) -> Result<TakenOver, Fault>;

    /// Writes a greater token into a hold: the second round of a quorum (clause 8).
    async fn raise(&self, name: &LockName, owner: &Owner, token: Token) -> Result<Raised, Fault>;

    /// Returns the holders and waiters of a name.
    async fn inspect(&self, name: &LockName) -> Result<Snapshot, Fault>;

    /// Returns the names in use that begin with `prefix`, in order, at most `limit` of them.
    async fn list(&self, prefix: &str, limit: usize) -> Result<Listing, Fault>;

    /// Evicts all holders of a name and returns them. The next grant has a greater token.
    async fn evict(&self, name: &LockName) -> Result<Vec<Contender>, Fault>;

    /// Evicts the one hold of a name that [`Store::inspect`] showed under this id. Returns `None` and changes nothing
    /// if it no longer exists. Other holds of the name stay (clauses 7, 17).
    async fn evict_hold(&self, name: &LockName, hold: HoldId) -> Result<Option<Contender>, Fault>;

    /// Sends the processes that hold a name the same hint as an eviction, and evicts nothing (clause 17). Each of them
    /// renews at once, and reads what other programs tell it. A store without such hints does nothing.
    async fn hint_holders(&self, name: &LockName) -> Result<(), Fault>;

    /// Returns the record of a name's slots, and the store's time of day (clause 19).
    async fn read_slots(&self, _name: &LockName) -> Result<StoredSlots, Fault> {
        Err(no_slot_records())
    }

    /// Replaces the record of a name's slots, if this owner holds the name alone (clause 19).
    async fn write_slots(
        &self,
        _name: &LockName,
        _owner: &Owner,
        _write: &SlotsWrite,
    ) -> Result<SlotsWritten, Fault> {
        Err(no_slot_records())
    }

    /// Returns the events of a name's history, in the order in which they came, and the store's time of day (clause 20).
    async fn read_history(&self, _name: &LockName) -> Result<StoredHistory, Fault> {
        Err(no_history())
    }

    /// Adds events to the history of a name (clause 20).
    async fn add_history(&self, _name: &LockName, _write: &HistoryWrite) -> Result<(), Fault> {
        Err(no_history())
    }

    /// Returns the identity of the store's memory (clause 15). From it, a quorum learns that a member restarted and may
    /// have forgotten a part.
    async fn incarnation(&self) -> Result<Incarnation, Fault>;

    /// Returns the identity of the server that keeps the store now, as that server reports it. Stores with the same
    /// answer are one and fail together, whichever names they are reached by and whichever databases they use. A quorum
    /// refuses such members. The text is for comparing and for people; `None` if there is no such identity.
    async fn server(&self) -> Result<Option<String>, Fault> {
        Ok(None)
    }

    /// Checks the real store and returns which promises hold there.
    async fn health(&self) -> Result<Vec<Diagnostic>, Fault>;

    /// Returns the resource that keeps this process's holds alive in a store that notices deaths. If another process
    /// has a copy of it, the holds also live as long as that process.
    #[cfg(unix)]
    fn liveness(&self) -> Option<std::os::fd::OwnedFd>;
}

/// Refuses requests that no store grants together: no names, more than [`MOST`], or a name twice.
///
/// # Errors
/// A fault of kind [`Misconfigured`](FaultKind::Misconfigured). The call had no effect.
pub fn check_together(asks: &[(LockName, Ask)]) -> Result<(), Fault> {
    let names: BTreeSet<_> = asks.iter().map(|(name, _)| name).collect();
    let what = if !(1..=MOST).contains(&asks.len()) {
        format!("{} names cannot be asked for in one step", asks.len())
    } else if names.len() < asks.len() {
        "a name occurs twice among those asked for in one step".to_owned()
    } else {
        return Ok(());
    };
    let help = format!("ask for 1 to {MOST} names, each once");
    Err(Fault::new(FaultKind::Misconfigured, what, help))
}

/// Returns the fault of a store that does not declare [`Capabilities::together`].
#[must_use]
pub fn not_together() -> Fault {
    Fault::new(
        FaultKind::Unsupported,
        "this store does not grant several names in one step",
        "ask for them one by one",
    )
}
