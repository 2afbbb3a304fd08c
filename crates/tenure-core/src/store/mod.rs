//! The contract between tenure and a store.
//!
//! Small for those who implement it: no method has a default. The clauses below are numbered, and
//! the conformance suite of `tenure-testkit` proves each of them; [docs/stores/contract.md](https://github.com/tenure-rs/tenure/blob/main/docs/stores/contract.md) maps
//! them onto real stores. [`NameState`](tenure_proto::queue::NameState) is their meaning in code.
//!
//! 1. **Repeating is harmless.** An acquire repeated with the same owner and mode answers the same
//!    token and what is left of the lease. It never extends the lease of a hold. An exclusive holder
//!    that asks for the shared mode keeps its lease and token and lets other readers in at once;
//!    every other change of mode is refused and changes nothing.
//! 2. **Try leaves nothing behind; Wait keeps a place** for one place ttl after each ask. An owner
//!    that was passed over as absent and asks again within it gets its original place back.
//!    `retry_after` is the latest moment to ask again. A store without a queue answers a wait like
//!    a try.
//! 3. **A hand-off is claimed.** A release offers the name to the next waiter for one claim window
//!    and hints to it; the acquire that claims sets the full ttl. Unclaimed, it passes on. Nobody
//!    becomes a holder by a message, only by the answer to its own acquire.
//! 4. **A release lets in all who fit**: one writer, all leading readers, or as many takers of
//!    permits as there is room for.
//! 5. **A renewal never shortens, claims or creates**, and answers for each hold alone: what one
//!    part of the store does not answer is `Unknown` for its holds only.
//! 6. **A release is idempotent** and also gives up a place in the queue. With `keep`, the name
//!    stays taken for that long, whatever becomes of the process, and cannot be renewed any more.
//!    Until then the same owner is granted nothing and keeps no place: one owner is there once.
//! 7. **Only your own.** No call touches the lease or place of another owner, [`Store::evict`] and
//!    [`Store::evict_hold`] apart. The latter compares and removes in one step: what became of the hold
//!    since somebody looked at it is left alone.
//! 8. **Tokens rise** with each grant of a name, also after a release, an eviction or an expiry.
//!    Shared grants are unordered among themselves; the token of a permit only tells it apart.
//!    [`Store::raise`] writes a greater one into a hold, and later grants exceed that too.
//! 9. **First come, first served** for [`Order::Fifo`](tenure_proto::queue::Order::Fifo) among
//!    those who are present.
//! 10. **A turn is one step** where there is a queue: the owner lets go, whoever waits comes first,
//!     and `ask.owner`, another owner, asks; if nobody waits it is granted anew with a fresh token.
//!     Repeating it answers like a repeated acquire. Without a queue it may be two steps.
//! 11. **Faults say whether they may have taken effect.** An answer that never came is
//!     [`InDoubt`](crate::FaultKind::InDoubt), and `calls_outlive_drop` says whether a call can take
//!     effect after its future was dropped.
//! 12. **Any runtime.** Methods are called from any tokio runtime, several at a time, and from one
//!     that is gone tomorrow. [`Store::for_engine`] gives what tenure's own thread calls; nothing
//!     there may block that thread.
//! 13. **Capabilities are values.** What a store cannot do it declares, and answers
//!     [`Unsupported`](crate::FaultKind::Unsupported) when it is asked all the same.
//! 14. **Together or not at all.** [`Store::acquire_together`] grants each of several names as a
//!     try would, or none, in one step that no other call sees a part of. It keeps no place, passes
//!     nobody whom a try would not pass, and repeating it is as harmless as clause 1 says.
//!     [`Apart`](Together::Apart) means that these names have to be asked for one by one; any answer
//!     but a grant, and any fault that is not in doubt, leaves each name as it was.
//! 15. **A loss of memory shows.** [`Store::incarnation`] is the same for all clients and calls as
//!     long as the store surely keeps what it answered, and another one, never seen before, when it
//!     may have forgotten a part. It tells of the store that answers now, so two looks that show the
//!     same one vouch for every answer between them. What somebody deletes is no loss.
//! 16. **One name, one kind.** [`Ask::kind`] says what a name is used as, and `inspect` shows it of
//!     each contender. Who may hold a name together with whom depends on the modes alone; but where
//!     [`Capabilities::kinds_may_mix`] is `false`, an ask is refused as
//!     [`Misconfigured`](crate::FaultKind::Misconfigured), and changes nothing, while others hold the
//!     name or wait for it as another kind.
//! 17. **An eviction is told.** [`Store::evict`] and [`Store::evict_hold`] hint to every process that held the name, where the
//!     store can: its [`Evictions`] say the name, or that hints were missed, and what it holds of it is
//!     renewed soon. Nobody loses a hold by a message, only by the answer to its own renewal, and a
//!     hint tells nobody anything that proves an acquisition. Where somebody can ask a holder to let go,
//!     its process is told so by the same way, with the owner: a *release request*. It ends nothing,
//!     and is told again from time to time for as long as the hold lasts.
//! 18. **A hold changes hands in one step.** [`Store::take_over`] makes the hold of one owner that of
//!     another, in the mode it has, with a greater token and a lease of its own from now on; those who
//!     wait go on waiting. The old owner has nothing from then on, so of several that take over from it
//!     one succeeds. Nothing is taken over from who holds nothing, and repeating it is as harmless as
//!     clause 1 says. A *detached* hold belongs to no process: no process's end frees it, wherever the
//!     store notices deaths, and it ends by its lease, a release or an eviction.

mod certificates;
mod diagnostic;
mod evictions;
mod fault;
mod hints;
mod memory;

use std::{collections::BTreeSet, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
pub use certificates::certificate_cure;
pub use diagnostic::{BadSeverity, Diagnostic, Severity};
pub use evictions::{Eviction, Evictions};
pub use fault::{Fault, FaultKind};
pub use hints::{HintBoard, Wakeups};
pub use memory::{MemoryStore, Saved};
pub use tenure_proto::Owner;
use tenure_proto::{
    HoldId, Incarnation, Renewed, Token,
    all::MOST,
    queue::{Answer, Ask, Contender, Raised, Released, Snapshot, TakeOver, TakenOver, Together},
};

use crate::LockName;

/// What a store can do. The conformance suite holds it to every word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether a name can be held in [`Shared`](tenure_proto::queue::Mode::Shared) mode, and an
    /// exclusive hold become a shared one.
    pub shared: bool,
    /// Whether a name can be held by [`Permits`](tenure_proto::queue::Mode::Permits).
    pub permits: bool,
    /// Whether it keeps a queue and grants in its order. Without one, nothing is offered, `place` is
    /// `None`, and the three figures of the queue below are zero.
    pub fifo: bool,
    /// Whether a release itself offers the name to the next waiter, so that no newcomer can come
    /// between.
    pub handoff: bool,
    /// Whether who is next has the name in the store's eyes before it claims it: it is shown as a holder, and
    /// holds up the others until its place ends.
    pub implicit_handoff: bool,
    /// Whether its tokens leave room for passes inside a process.
    pub pass_bits: bool,
    /// Whether leases belong to a hold or to all holds of a session together.
    pub lease: LeaseScope,
    /// The longest lease that it grants, grace included. A longer one is refused.
    pub longest_lease: Duration,
    /// For how long it can keep a name taken after a release, without the process; zero if it cannot.
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
    /// Whether a name that is used as one kind of lock excludes who asks for it as another, as far as
    /// their modes do. Where not, the latter is refused as
    /// [`Misconfigured`](crate::FaultKind::Misconfigured).
    pub kinds_may_mix: bool,
    /// Whether [`Store::incarnation`] works.
    pub incarnation: bool,
    /// Whether [`Store::evictions`] tells of evictions. Without it an evicted holder learns by its next
    /// renewal, a third of its ttl later at the latest, or at its end where it needs none.
    pub tells_evictions: bool,
    /// Whether [`Store::evictions`] tells of release requests. Without it no holder is ever asked to let go.
    pub tells_release_requests: bool,
    /// How long a place in the queue is kept without being asked for again.
    pub position_ttl: Duration,
    /// Whether a place that ended is given back to who names it.
    pub place_back: bool,
    /// How long a waiter has to claim what it is offered.
    pub claim_window: Duration,
    /// How many may wait for one name.
    pub max_waiters: usize,
    /// How many may hold one name together. More than that wait.
    pub max_holders: usize,
    /// What a user is told of what it lacks, where there is more to say than that.
    pub reasons: Reasons,
}

/// Why a store cannot do something, and what its users can do instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Why not.
    pub what: &'static str,
    /// What a user can do.
    pub help: &'static str,
}

/// A store's reasons for what it declares as `false` in its [`Capabilities`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reasons {
    /// Why it has no `shared` mode.
    pub shared: Option<Reason>,
    /// Why it has no `permits`.
    pub permits: Option<Reason>,
    /// Why it is not `fifo`.
    pub fifo: Option<Reason>,
    /// Why it cannot `detach`.
    pub detach: Option<Reason>,
}

impl Reasons {
    /// No more than that it cannot be done.
    pub const NONE: Self = Self { shared: None, permits: None, fifo: None, detach: None };
}

impl Capabilities {
    /// Why a name cannot be shared, if it cannot.
    pub(crate) fn no_readers(&self) -> Option<Reason> {
        const NO: Reason = Reason {
            what: "this store does not support shared locks",
            help: "use a mutex, or another store",
        };
        (!self.shared).then(|| self.reasons.shared.unwrap_or(NO))
    }

    /// Why there are no permits, if there are none.
    pub(crate) fn no_permits(&self) -> Option<Reason> {
        const NO: Reason = Reason {
            what: "this store does not support semaphores",
            help: "use a mutex, or another store",
        };
        (!self.permits).then(|| self.reasons.permits.unwrap_or(NO))
    }

    /// Why nothing can be asked of the order, if nothing can.
    pub(crate) fn no_order(&self) -> Option<Reason> {
        const NO: Reason = Reason {
            what: "this store keeps no queue, so it cannot be fair",
            help: "leave out fair()",
        };
        (!self.fifo).then(|| self.reasons.fifo.unwrap_or(NO))
    }

    /// Why this much of a lease cannot be kept free, if it cannot: where a session bounds it, at most half of
    /// what that leaves.
    pub(crate) fn no_grace(&self, grace: Duration) -> Option<Fault> {
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

    /// Why no hold changes hands, if none does.
    pub(crate) fn no_detaching(&self) -> Option<Reason> {
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

/// What a lease is tied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaseScope {
    /// Each hold has its own.
    Hold,
    /// All holds of one session share one, so none outlasts the session, whatever was asked for as ttl: `left`
    /// says what there is, and any call may extend it.
    Session {
        /// How long a hold may be counted on without a renewal, at most.
        longest: Duration,
    },
}

impl LeaseScope {
    /// How long a hold may be counted on without a renewal that was asked for `ttl`, at most.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure_core::store::LeaseScope;
    ///
    /// let (short, long) = (Duration::from_secs(7), Duration::from_secs(30));
    /// assert_eq!(LeaseScope::Hold.at_most(long), long);
    /// assert_eq!(LeaseScope::Session { longest: short }.at_most(long), short);
    /// ```
    #[must_use]
    pub fn at_most(&self, ttl: Duration) -> Duration {
        match self {
            Self::Hold => ttl,
            Self::Session { longest } => ttl.min(*longest),
        }
    }
}

/// One hold to be renewed.
#[derive(Clone, Debug)]
pub struct Renewal {
    /// The lock's name.
    pub name: LockName,
    /// Proof of the acquisition.
    pub owner: Owner,
    /// How long the lease is to last from now, at least, grace included.
    pub ttl: Duration,
}

/// Some of the names in use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing {
    /// Names with at least one contender, in order, each with who contends for it.
    pub names: Vec<(LockName, Snapshot)>,
    /// Whether there were more than asked for.
    pub more: bool,
    /// Why others may be missing, each reason once: servers that cannot be asked now.
    pub missing: Vec<String>,
}

impl Listing {
    /// These names, and whether there were more than asked for.
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

/// A place that keeps leases: the contract is in the [module's documentation](self).
#[async_trait]
pub trait Store: fmt::Debug + Send + Sync + 'static {
    /// The kind of store in one word: `memory`, `file`, `redis`.
    fn kind(&self) -> &'static str;

    /// Where it is, for people and complete in itself: its URL, if it has one, and never a password.
    fn location(&self) -> String;

    /// What it can do.
    fn capabilities(&self) -> &Capabilities;

    /// The same store for calls from tenure's own thread: with connections of its own, and
    /// without ever blocking that thread.
    fn for_engine(&self) -> Arc<dyn Store>;

    /// Registers for the wake-ups of one waiter. Called before its first ask.
    fn wakeups(&self, name: &LockName, owner: &Owner) -> Wakeups;

    /// The evictions and release requests that this process is told of from now on (clause 17), for the one
    /// engine that asks. Silent for a store that tells of none.
    fn evictions(&self) -> Evictions;

    /// Asks for a name (clauses 1, 2, 3, 8, 9).
    async fn acquire(&self, name: &LockName, ask: &Ask) -> Result<Answer, Fault>;

    /// Asks for several names in one step (clause 14): one to [`MOST`], each once, each with an
    /// owner of its own. Whether an ask waits is not heeded.
    async fn acquire_together(&self, asks: &[(LockName, Ask)]) -> Result<Together, Fault>;

    /// Renews holds and answers for each of them, in their order and as many (clause 5). A failure leaves
    /// it unknown whether the hold was renewed, so never is [`Renewed::Unknown`] an answer.
    async fn renew(&self, holds: &[Renewal]) -> Vec<Result<Renewed, Fault>>;

    /// Gives up a hold or a place in the queue (clauses 4, 6).
    async fn release(
        &self,
        name: &LockName,
        owner: &Owner,
        keep: Duration,
    ) -> Result<Released, Fault>;

    /// Lets others have their turn and queues again, in one step (clause 10).
    async fn turn(&self, name: &LockName, owner: &Owner, ask: &Ask) -> Result<Answer, Fault>;

    /// Makes the hold of `over.from` that of `over.owner`, in one step (clause 18).
    async fn take_over(&self, name: &LockName, over: &TakeOver) -> Result<TakenOver, Fault>;

    /// Writes a greater token into a hold: the second round of a quorum (clause 8).
    async fn raise(&self, name: &LockName, owner: &Owner, token: Token) -> Result<Raised, Fault>;

    /// Who holds a name and who waits for it.
    async fn inspect(&self, name: &LockName) -> Result<Snapshot, Fault>;

    /// Names in use that begin with `prefix`, in order, at most `limit` of them.
    async fn list(&self, prefix: &str, limit: usize) -> Result<Listing, Fault>;

    /// Takes a name from whoever holds it. What is granted next has a greater token.
    async fn evict(&self, name: &LockName) -> Result<Vec<Contender>, Fault>;

    /// Takes a name from the one hold that [`Store::inspect`] showed under this id; `None` if that is not there any
    /// more, and then nothing changed. Other holds of the name stay (clauses 7, 17).
    async fn evict_hold(&self, name: &LockName, hold: HoldId) -> Result<Option<Contender>, Fault>;

    /// Which memory of the store this is (clause 15): what a quorum tells by that a member restarted
    /// and may have forgotten a part.
    async fn incarnation(&self) -> Result<Incarnation, Fault>;

    /// Which server keeps it now, by that server's own word: stores that answer alike are one, and fail together, by
    /// whatever names they are reached and in whichever of its databases they are. A quorum refuses such members.
    /// For comparing, and for people; `None` where nothing tells.
    async fn server(&self) -> Result<Option<String>, Fault> {
        Ok(None)
    }

    /// Looks at the real store and says which promise holds there.
    async fn health(&self) -> Result<Vec<Diagnostic>, Fault>;

    /// What keeps this process's holds alive in the store's eyes, if it notices a death: a copy of
    /// it in another process makes that process's life count too.
    #[cfg(unix)]
    fn liveness(&self) -> Option<std::os::fd::OwnedFd>;
}

/// Refuses what no store grants together: no names, more than [`MOST`], or one of them twice.
///
/// # Errors
/// A fault of kind [`Misconfigured`](FaultKind::Misconfigured), which had no effect.
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

/// What a store answers that declares no [`Capabilities::together`].
#[must_use]
pub fn not_together() -> Fault {
    Fault::new(
        FaultKind::Unsupported,
        "this store does not grant several names in one step",
        "ask for them one by one",
    )
}
