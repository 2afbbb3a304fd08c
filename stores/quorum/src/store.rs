//! The store on a majority of stores.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use tenure_core::{
    Eviction, Evictions, Fault, FaultKind, HintBoard, HoldId, Incarnation, LockName, Owner, Store,
    Token, Wakeups,
    proto::{
        Renewed,
        queue::{
            Answer, Ask, Contender, Mode, Order, Raised, Released, Snapshot, TakeOver, TakenOver,
            Together,
        },
        quorum::{self, FEWEST_MEMBERS, majority, mark},
    },
    store::{
        Capabilities, Diagnostic, LeaseScope, Listing, Reason, Reasons, Renewal, not_together,
    },
};

use crate::{
    QuorumOptions,
    error::{too_long, unsupported},
    evictions::EvictionReportTally,
    holds::Acquisitions,
    members::{Member, background::BackgroundLimiter},
};

/// Locks on a majority of several independent stores. Clones share one client.
///
/// Exclusion ([S1](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s1-exclusion)) holds however many
/// members restart, with their memory or part of it. It assumes that not all of them are empty at the same time, and
/// that each keeps the promises of a single store while it runs. Tokens rise
/// ([S2](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s2-tokens-rise)) also when members are lost
/// and come back, unless their clocks are then behind.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::Arc;
/// use tenure_core::{MemoryStore, Store, Tenure};
/// use tenure_quorum::{QuorumOptions, QuorumStore};
///
/// let members = (0..3).map(|_| Arc::new(MemoryStore::new()) as Arc<dyn Store>).collect();
/// let tenure = Tenure::new(Arc::new(QuorumStore::new(members, QuorumOptions::new())?));
/// let guard = tenure.mutex("order:pay:42").lock().await?;
/// guard.release().await?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct QuorumStore {
    pub(crate) members: Arc<[Member]>,
    pub(crate) shared: Arc<Shared>,
}

/// What the store for the user's calls and the store for the engine share.
pub(crate) struct Shared {
    pub(crate) options: QuorumOptions,
    pub(crate) charter: mark::Charter,
    pub(crate) places: Vec<String>,
    pub(crate) capabilities: Capabilities,
    pub(crate) holds: Acquisitions,
    pub(crate) background: BackgroundLimiter,
    pub(crate) board: HintBoard,
    /// Held while members are marked.
    pub(crate) assembling: tokio::sync::Mutex<()>,
    pub(crate) assembled: AtomicBool,
    /// Whether members that count were ever seen. An empty quorum is then not a new one.
    pub(crate) has_counted: AtomicBool,
    /// When to check members that no answer reports on, in nanoseconds of the clock.
    pub(crate) next_look: AtomicU64,
}

impl QuorumStore {
    /// Makes a quorum of these members. They must be independent: no member may fail because another does. An odd
    /// number is best, because an even number survives no more losses than one member fewer.
    ///
    /// This sends nothing. The first call that needs a majority marks each member.
    ///
    /// # Errors
    /// A fault if there are fewer than three members, if two are the same, or if one cannot raise tokens, keep a name
    /// after its release, keep a lease for each hold, or report that it restarted.
    pub fn new(members: Vec<Arc<dyn Store>>, options: QuorumOptions) -> Result<Self, Fault> {
        let places: Vec<_> = members.iter().map(|member| member.location()).collect();
        check(&members, &places, options.durable_members)?;
        let charter = mark::Charter {
            members: members.len(),
            longest: options.longest_lease,
            durable: options.durable_members,
        };
        let shared = Shared {
            options,
            charter,
            places,
            capabilities: capabilities(&members, &charter),
            holds: Acquisitions::default(),
            background: BackgroundLimiter::new(members.len()),
            board: HintBoard::new(),
            assembling: tokio::sync::Mutex::new(()),
            assembled: AtomicBool::new(false),
            has_counted: AtomicBool::new(false),
            next_look: AtomicU64::new(0),
        };
        Ok(Self { members: members.into(), shared: Arc::new(shared) })
    }

    /// Makes a quorum and checks its members, so that a mistake in the quorum shows now.
    ///
    /// # Errors
    /// As for [`QuorumStore::new`]. Also a fault if the members belong to another quorum or to one with other rules, or
    /// if two report that they are one server, as two databases of one server do. A member that cannot be reached, or
    /// does not report its server, is no error here.
    ///
    /// # Cancel safety
    /// Cancel-safe: opening a quorum holds nothing.
    pub async fn open(members: Vec<Arc<dyn Store>>, options: QuorumOptions) -> Result<Self, Fault> {
        Self::boxed(members, options).await
    }

    /// Compiled in this crate. Each crate that awaits an `async fn` compiles its body again.
    fn boxed(
        members: Vec<Arc<dyn Store>>,
        options: QuorumOptions,
    ) -> BoxFuture<'static, Result<Self, Fault>> {
        Box::pin(Self::opening(members, options))
    }

    async fn opening(members: Vec<Arc<dyn Store>>, options: QuorumOptions) -> Result<Self, Fault> {
        let store = Self::new(members, options)?;
        store.no_server_twice().await?;
        match store.assemble(true).await {
            Err(fault) if !fault.is_transient() => Err(fault),
            Ok(()) | Err(_) => Ok(store),
        }
    }

    /// Refuses a request that a quorum cannot serve.
    fn check_supported(&self, name: &LockName, ask: &Ask) -> Result<(), Fault> {
        refuse_reserved(name)?;
        if let Mode::Permits { .. } = ask.mode {
            return Err(NO_PERMITS.into());
        }
        if ask.mode == Mode::Shared && !self.shared.capabilities.shared {
            return Err(NO_READERS.into());
        }
        if ask.order == Order::Fifo {
            return Err(NO_QUEUE.into());
        }
        if ask.ttl > self.shared.charter.longest {
            return Err(too_long("a lease", ask.ttl, &self.shared.charter));
        }
        Ok(())
    }
}

const NO_PERMITS: Reason = Reason {
    what: "a quorum has no permits: three members of two permits each would admit three holders, \
           as no member sees them all",
    help: "keep the semaphore in one store",
};
const NO_READERS: Reason =
    Reason { what: "a member of the quorum does not support shared locks", help: "use a mutex" };
const NO_DETACHING: Reason = Reason {
    what: "a member of the quorum lets no hold outlive its process or change hands",
    help: "release it, and lock again where the work continues; or choose other members",
};
const NO_QUEUE: Reason = Reason {
    what: "a quorum keeps no queue, as its members would not agree on the first waiter",
    help: "leave out fair(), or keep the lock in one store",
};

/// Refuses the names of marks and gates, which no program may lock.
pub(crate) fn refuse_reserved(name: &LockName) -> Result<(), Fault> {
    if is_reserved(name) {
        let what = "this name is reserved for the quorum's own entries at its members";
        return Err(Fault::new(FaultKind::Misconfigured, what, "choose another name"));
    }
    Ok(())
}

/// Whether a quorum itself uses this name at its members.
pub fn is_reserved(name: &LockName) -> bool {
    quorum::is_reserved(name.as_str())
}

/// Refuses too few members for a quorum.
///
/// # Errors
/// A fault if the quorum could not lose any of them.
pub fn check_count(members: usize) -> Result<(), Fault> {
    if members >= FEWEST_MEMBERS {
        return Ok(());
    }
    let what =
        format!("{members} named, and a quorum of fewer than {FEWEST_MEMBERS} cannot lose any");
    Err(Fault::new(FaultKind::Misconfigured, what, "name at least three independent stores"))
}

/// Refuses locations of which two are the same.
///
/// # Errors
/// A fault that names the location.
pub fn check_distinct(places: &[String]) -> Result<(), Fault> {
    let is_again = |index: usize, place: &String| places.iter().take(index).any(|it| it == place);
    match places.iter().enumerate().find(|(index, place)| is_again(*index, place)) {
        None => Ok(()),
        Some((_, place)) => {
            let what = format!("{place} is named twice");
            Err(Fault::new(FaultKind::Misconfigured, what, "name each store once"))
        }
    }
}

fn check(members: &[Member], places: &[String], durable: bool) -> Result<(), Fault> {
    let wrong = |what: String, help: &str| Err(Fault::new(FaultKind::Misconfigured, what, help));
    check_count(members.len())?;
    check_distinct(places)?;
    for (member, place) in members.iter().zip(places) {
        let can = member.capabilities();
        if !can.raise || can.longest_keep.is_zero() || can.lease != LeaseScope::Hold {
            let what = format!("{place} cannot be a member: it raises no tokens or keeps no names");
            return wrong(what, "choose stores that can raise tokens, or use it alone");
        }
        if !can.incarnation && !durable {
            let what = format!("{place} cannot be a member: its restarts could not be detected");
            let help = "choose stores that tell, or, if no restart can lose what a member confirmed, say \
                        durable_members=yes";
            return wrong(what, help);
        }
    }
    Ok(())
}

const NO_HISTORY: Reason = Reason {
    what: "the servers of a quorum keep no history of locks",
    help: "use one Redis, PostgreSQL, MySQL or the embedded store, or the metrics and logs of the holders",
};

const NO_SLOT_RECORDS: Reason = Reason {
    what: "the servers of a quorum have no common time of day, by which all hosts would see the same slot",
    help: "use one Redis, PostgreSQL, MySQL or the embedded store to run something once per slot",
};

fn capabilities(members: &[Member], charter: &mark::Charter) -> Capabilities {
    let all = |can: fn(&Capabilities) -> bool| members.iter().all(|one| can(one.capabilities()));
    let (shared, detach) = (all(|can| can.shared), all(|can| can.detach));
    let telling = members.iter().filter(|one| one.capabilities().tells_evictions).count();
    Capabilities {
        shared,
        permits: false,
        fifo: false,
        handoff: false,
        implicit_handoff: false,
        pass_bits: all(|can| can.pass_bits),
        lease: LeaseScope::Hold,
        longest_lease: charter.longest,
        longest_detached_read_write: charter.longest,
        longest_keep: members
            .iter()
            .map(|one| one.capabilities().longest_keep)
            .fold(charter.longest, Duration::min),
        calls_outlive_drop: !all(|can| !can.calls_outlive_drop),
        notices_death: false,
        raise: false,
        together: false,
        detach,
        slot_records: false,
        history: false,
        kinds_may_mix: all(|can| can.kinds_may_mix),
        incarnation: false,
        tells_evictions: telling >= majority(members.len()),
        tells_release_requests: false,
        position_ttl: Duration::ZERO,
        place_back: false,
        claim_window: Duration::ZERO,
        max_waiters: 0,
        max_holders: members.iter().map(|one| one.capabilities().max_holders).min().unwrap_or(0),
        reasons: Reasons {
            shared: (!shared).then_some(NO_READERS),
            permits: Some(NO_PERMITS),
            fifo: Some(NO_QUEUE),
            detach: (!detach).then_some(NO_DETACHING),
            slot_records: Some(NO_SLOT_RECORDS),
            history: Some(NO_HISTORY),
        },
    }
}

impl fmt::Debug for QuorumStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuorumStore").field("members", &self.shared.places).finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for QuorumStore {
    fn kind(&self) -> &'static str {
        "quorum"
    }

    fn location(&self) -> String {
        // It is one quorum, in whatever order its members are named.
        let mut places: Vec<_> = self.shared.places.iter().map(String::as_str).collect();
        places.sort_unstable();
        format!("quorum:{}", places.join(","))
    }

    fn capabilities(&self) -> &Capabilities {
        &self.shared.capabilities
    }

    fn for_engine(&self) -> Arc<dyn Store> {
        let members = self.members.iter().map(|member| member.for_engine()).collect();
        Arc::new(Self { members, shared: self.shared.clone() })
    }

    fn wakeups(&self, name: &LockName, owner: &Owner) -> Wakeups {
        self.shared.board.listen(name, owner)
    }

    fn evictions(&self) -> Evictions {
        let members = self.members.iter().map(|member| member.evictions()).collect();
        let options = self.shared.options.clone();
        // An eviction waits this long for each of them.
        let mut told = EvictionReportTally::new(self.members.len(), options.member_limit);
        Evictions::merged(members, move |member, eviction| match eviction {
            Eviction::Of(name) => told.record_report(member, name, options.now()),
            // A request at one member alone shows at the next renewal. It asks nothing of the others.
            _ => false,
        })
    }

    async fn acquire(&self, name: &LockName, ask: &Ask) -> Result<Answer, Fault> {
        self.check_supported(name, ask)?;
        self.acquire_by_majority(name, ask).await
    }

    async fn acquire_together(&self, _: &[(LockName, Ask)]) -> Result<Together, Fault> {
        Err(not_together())
    }

    async fn renew(&self, holds: &[Renewal]) -> Vec<Result<Renewed, Fault>> {
        self.renew_by_majority(holds).await
    }

    async fn release(
        &self,
        name: &LockName,
        owner: &Owner,
        keep: Duration,
    ) -> Result<Released, Fault> {
        self.release_everywhere(name, owner, keep).await
    }

    async fn turn(&self, name: &LockName, owner: &Owner, ask: &Ask) -> Result<Answer, Fault> {
        self.check_supported(name, ask)?;
        // This queue has no waiters that could lose their position in between.
        self.release(name, owner, Duration::ZERO).await?;
        self.acquire_by_majority(name, ask).await
    }

    async fn take_over(&self, name: &LockName, over: &TakeOver) -> Result<TakenOver, Fault> {
        if !self.shared.capabilities.detach {
            return Err(NO_DETACHING.into());
        }
        self.check_supported(name, &over.as_ask())?;
        if over.from == over.owner {
            let what = "a hold cannot be taken over by its present owner";
            return Err(Fault::new(FaultKind::Misconfigured, what, "use a new owner"));
        }
        self.take_over_by_majority(name, over).await
    }

    async fn raise(&self, _: &LockName, _: &Owner, _: Token) -> Result<Raised, Fault> {
        Err(unsupported("a quorum cannot be a member of a quorum", "name its members instead"))
    }

    async fn incarnation(&self) -> Result<Incarnation, Fault> {
        Err(unsupported("a quorum itself has no memory to lose", "ask its members"))
    }

    async fn inspect(&self, name: &LockName) -> Result<Snapshot, Fault> {
        self.inspect_by_majority(name).await
    }

    async fn list(&self, prefix: &str, limit: usize) -> Result<Listing, Fault> {
        self.list_agreed(prefix, limit).await
    }

    async fn evict(&self, name: &LockName) -> Result<Vec<Contender>, Fault> {
        self.evict_everywhere(name, None).await
    }

    async fn evict_hold(&self, name: &LockName, hold: HoldId) -> Result<Option<Contender>, Fault> {
        Ok(self.evict_everywhere(name, Some(hold)).await?.pop())
    }

    async fn hint_holders(&self, name: &LockName) -> Result<(), Fault> {
        self.hint_everywhere(name).await
    }

    async fn health(&self) -> Result<Vec<Diagnostic>, Fault> {
        Ok(self.look_at_members().await)
    }

    #[cfg(unix)]
    fn liveness(&self) -> Option<std::os::fd::OwnedFd> {
        None
    }
}
