//! The reference store: the contract in one process's memory.
//!
//! Use it to test your own code, and to read. It does with a map what a real store does with files, scripts or
//! statements.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tenure_proto::{
    HoldId, Incarnation, Owner, Renewed, Token,
    queue::{
        Answer, Ask, Client, Contender, DecisionContext, Limits, NameState, QueueError, Raised,
        Released, Snapshot, TakeOver, TakenOver, Together, Wake, acquire_together,
    },
    rule::{Rule, kept},
};

use super::histories::Histories;
use crate::{
    Clock, Evictions, Fault, FaultKind, HintBoard, LockName, SystemClock, Wakeups,
    store::{
        Capabilities, Diagnostic, HistoryWrite, LeaseScope, Listing, Reasons, Renewal, SlotsWrite,
        SlotsWritten, Store, StoredHistory, StoredSlots, check_slot_record, check_together,
    },
};

const LIMITS: Limits = Limits {
    notices_absence: true,
    claim_window: Duration::from_millis(500),
    position_ttl: Duration::from_secs(10),
    look: Duration::from_secs(1),
    max_waiters: 1_000,
    max_holders: 1_000,
    kinds_may_mix: true,
};

const CAPABILITIES: Capabilities = Capabilities {
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
    calls_outlive_drop: false,
    notices_death: false,
    raise: true,
    together: true,
    detach: true,
    slot_records: true,
    history: true,
    kinds_may_mix: true,
    incarnation: true,
    tells_evictions: true,
    tells_release_requests: false,
    position_ttl: LIMITS.position_ttl,
    place_back: true,
    claim_window: LIMITS.claim_window,
    max_waiters: LIMITS.max_waiters,
    max_holders: LIMITS.max_holders,
    reasons: Reasons::NONE,
};

/// All users of the store are one process.
const PROCESS: Client = Client([1; 16]);

/// The usual store, and the one that keeps the kinds of lock apart.
const MEETING: (Capabilities, Limits) = (CAPABILITIES, LIMITS);
const APART: (Capabilities, Limits) = (
    Capabilities { kinds_may_mix: false, ..CAPABILITIES },
    Limits { kinds_may_mix: false, ..LIMITS },
);

/// A store in the memory of this process. Clones are the same store.
///
/// Exclusion ([S1](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s1-exclusion)) holds among all
/// users of this value and its clones. Nothing outlives the process. After [`MemoryStore::forget`], tokens rise
/// ([S2](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s2-tokens-rise)) as long as the clock's time
/// of day is not set back behind the last token.
///
/// ```
/// use std::sync::Arc;
/// use tenure_core::{ManualClock, MemoryStore, Store};
///
/// let clock = ManualClock::new();
/// let store = MemoryStore::with_clock(Arc::new(clock.clone()));
/// assert_eq!(store.kind(), "memory");
/// ```
#[derive(Clone)]
pub struct MemoryStore {
    /// The number of this store among those of this process.
    number: u64,
    clock: Arc<dyn Clock>,
    /// What it declares, and the limits that it decides by.
    can: &'static (Capabilities, Limits),
    names: Arc<Mutex<MemoryState>>,
    hints: HintBoard,
}

/// The names in use, and the last token's time of all names that are no longer in use. That is one number for all, so
/// that the stored data does not grow with the number of names that were ever used.
#[derive(Clone, Default)]
struct MemoryState {
    /// Counts the losses.
    losses: u128,
    in_use: BTreeMap<LockName, NameState>,
    /// The records of slots, each with the time of day until which it is kept.
    slots: BTreeMap<LockName, (String, u64)>,
    histories: Histories,
    last_time: u64,
    /// The number of names at which those are swept whose leases ended without another request for them.
    sweep_at: usize,
}

/// The contents of a [`MemoryStore`] at one moment.
#[derive(Clone)]
pub struct Saved(MemoryState);

impl fmt::Debug for Saved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Saved").field("in_use", &self.0.in_use.len()).finish()
    }
}

impl MemoryState {
    fn take(&mut self, name: &LockName) -> NameState {
        let last_time = self.last_time;
        let fresh = || NameState { last_time, ..NameState::default() };
        self.in_use.remove(name).unwrap_or_else(fresh)
    }

    fn put(&mut self, name: &LockName, state: NameState, at: &DecisionContext<'_>) {
        if state.is_idle() {
            self.last_time = self.last_time.max(state.last_time);
            return;
        }
        self.in_use.insert(name.clone(), state);
        if self.in_use.len() < self.sweep_at.max(1_024) {
            return;
        }
        let last_time = &mut self.last_time;
        self.in_use.retain(|_, state| {
            state.expire(at);
            *last_time = state.last_time.max(*last_time);
            !state.is_idle()
        });
        self.sweep_at = self.in_use.len() * 2;
    }
}

impl MemoryStore {
    /// Makes an empty store on the machine's clock.
    #[must_use]
    pub fn new() -> Self {
        Self::with_clock(Arc::new(SystemClock))
    }

    /// Makes an empty store on `clock`.
    #[must_use]
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { number, clock, can: &MEETING, names: Arc::default(), hints: HintBoard::new() }
    }

    /// Returns the same store with the kinds of lock kept apart: it refuses a name to one kind while another kind uses
    /// it, as stores do whose layouts differ from kind to kind.
    ///
    /// ```
    /// use tenure_core::{MemoryStore, Store};
    ///
    /// let store = MemoryStore::new().kinds_apart();
    /// assert!(!store.capabilities().kinds_may_mix);
    /// ```
    #[must_use]
    pub fn kinds_apart(self) -> Self {
        Self { can: &APART, ..self }
    }

    /// Loses everything, like a server that restarts without persistence.
    pub fn forget(&self) {
        self.come_back_with(MemoryState::default());
    }

    /// Returns the time in the greatest token that the store remembers to have granted, in microseconds since the Unix
    /// epoch. After a loss, tokens continue to rise if the time of day is later than that.
    #[must_use]
    pub fn last_token_time(&self) -> u64 {
        let names = self.lock();
        let in_use = names.in_use.values().map(|state| state.last_time);
        in_use.fold(names.last_time, u64::max)
    }

    /// Returns the current contents, for [`MemoryStore::forget_since`].
    #[must_use]
    pub fn save(&self) -> Saved {
        Saved(self.lock().clone())
    }

    /// Loses all changes since `saved`, like a server that restarts from what it last wrote.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// use tenure_core::{MemoryStore, Store};
    ///
    /// let store = MemoryStore::new();
    /// let before = store.incarnation().await?;
    /// let saved = store.save();
    /// store.forget_since(&saved);
    /// assert_ne!(store.incarnation().await?, before);
    /// # Ok::<(), tenure_core::Fault>(())
    /// # }).unwrap();
    /// ```
    pub fn forget_since(&self, saved: &Saved) {
        self.come_back_with(saved.0.clone());
    }

    fn come_back_with(&self, names: MemoryState) {
        let mut now = self.lock();
        *now = MemoryState { losses: now.losses + 1, ..names };
        drop(now);
        self.hints.wake_all();
    }

    fn lock(&self) -> MutexGuard<'_, MemoryState> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides on one name and puts back its new state.
    fn decide<T>(
        &self,
        name: &LockName,
        decision: impl FnOnce(&mut NameState, &DecisionContext<'_>) -> (T, Vec<Wake>),
    ) -> T {
        let at = self.decision_context();
        let mut names = self.lock();
        let mut state = names.take(name);
        let (answer, wake) = decision(&mut state, &at);
        names.put(name, state, &at);
        drop(names);
        self.wake(wake);
        answer
    }

    fn decision_context(&self) -> DecisionContext<'static> {
        DecisionContext {
            now: self.clock.now(),
            wall: if kept(Rule::TokensOutliveMemory) { self.clock.wall() } else { 0 },
            limits: &self.can.1,
            alive: &|_| true,
            reachable: &|_| true,
        }
    }

    fn wake(&self, wake: Vec<Wake>) {
        for wake in wake {
            self.hints.wake(&wake.owner);
        }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("in_use", &self.lock().in_use.len()).finish()
    }
}

/// A decision that can be refused, in the form that [`MemoryStore::decide`] takes.
fn refusable<T>(outcome: Result<(T, Vec<Wake>), QueueError>) -> (Result<T, QueueError>, Vec<Wake>) {
    match outcome {
        Ok((answer, wake)) => (Ok(answer), wake),
        Err(error) => (Err(error), Vec::new()),
    }
}

impl From<QueueError> for Fault {
    fn from(error: QueueError) -> Self {
        let (kind, help) = match error {
            QueueError::Full { .. } => (FaultKind::Full, "try again when fewer wait"),
            QueueError::OtherMode => (FaultKind::Unsupported, "release it and lock it anew"),
            QueueError::OtherKind { .. } => (
                FaultKind::Misconfigured,
                "use each name for one kind of lock, or wait until no process uses it as the other",
            ),
            QueueError::Permits { .. } => {
                (FaultKind::Misconfigured, "take at least one permit, and at most all of them")
            }
            QueueError::Clock(_) => (FaultKind::Misconfigured, "then try again"),
        };
        Self::new(kind, error.to_string(), help)
    }
}

#[async_trait]
impl Store for MemoryStore {
    fn kind(&self) -> &'static str {
        "memory"
    }

    fn location(&self) -> String {
        format!("memory of this process, store {}", self.number)
    }

    fn capabilities(&self) -> &Capabilities {
        &self.can.0
    }

    fn for_engine(&self) -> Arc<dyn Store> {
        Arc::new(self.clone())
    }

    fn wakeups(&self, name: &LockName, owner: &Owner) -> Wakeups {
        self.hints.listen(name, owner)
    }

    fn evictions(&self) -> Evictions {
        self.hints.evictions()
    }

    async fn acquire(&self, name: &LockName, ask: &Ask) -> Result<Answer, Fault> {
        Ok(self.decide(name, |state, at| refusable(state.acquire(ask, PROCESS, at)))?)
    }

    async fn acquire_together(&self, asks: &[(LockName, Ask)]) -> Result<Together, Fault> {
        check_together(asks)?;
        let at = self.decision_context();
        let mut names = self.lock();
        let mut states: Vec<_> = asks.iter().map(|(name, ask)| (names.take(name), ask)).collect();
        let decided = acquire_together(&mut states, PROCESS, &at);
        for ((name, _), (state, _)) in asks.iter().zip(states) {
            names.put(name, state, &at);
        }
        drop(names);
        let (answer, wake) = decided?;
        self.wake(wake);
        Ok(answer)
    }

    async fn renew(&self, holds: &[Renewal]) -> Vec<Result<Renewed, Fault>> {
        holds
            .iter()
            .map(|hold| {
                Ok(self.decide(&hold.name, |state, at| {
                    (state.renew(&hold.owner, hold.ttl, at), Vec::new())
                }))
            })
            .collect()
    }

    async fn release(
        &self,
        name: &LockName,
        owner: &Owner,
        keep: Duration,
    ) -> Result<Released, Fault> {
        Ok(self.decide(name, |state, at| state.release(owner, keep, at)))
    }

    async fn turn(&self, name: &LockName, owner: &Owner, ask: &Ask) -> Result<Answer, Fault> {
        Ok(self.decide(name, |state, at| refusable(state.turn(owner, ask, PROCESS, at)))?)
    }

    async fn take_over(&self, name: &LockName, over: &TakeOver) -> Result<TakenOver, Fault> {
        Ok(self.decide(name, |state, at| refusable(state.take_over(over, PROCESS, at)))?)
    }

    async fn raise(&self, name: &LockName, owner: &Owner, token: Token) -> Result<Raised, Fault> {
        Ok(self.decide(name, |state, at| (state.raise(owner, token, at), Vec::new())))
    }

    async fn inspect(&self, name: &LockName) -> Result<Snapshot, Fault> {
        Ok(self.decide(name, |state, at| (state.inspect(at), Vec::new())))
    }

    async fn list(&self, prefix: &str, limit: usize) -> Result<Listing, Fault> {
        let names: Vec<LockName> = self
            .lock()
            .in_use
            .keys()
            .filter(|name| name.as_str().starts_with(prefix))
            .cloned()
            .collect();
        let mut listing = Listing::default();
        for name in names {
            let snapshot = self.inspect(&name).await?;
            if snapshot == Snapshot::default() {
                continue;
            }
            if listing.names.len() == limit {
                listing.more = true;
                break;
            }
            listing.names.push((name, snapshot));
        }
        Ok(listing)
    }

    async fn evict(&self, name: &LockName) -> Result<Vec<Contender>, Fault> {
        let evicted = self.decide(name, |state, at| state.evict(at));
        if !evicted.clients.is_empty() {
            self.hints.evicted(name);
        }
        Ok(evicted.holders)
    }

    async fn evict_hold(&self, name: &LockName, hold: HoldId) -> Result<Option<Contender>, Fault> {
        let mut evicted = self.decide(name, |state, at| state.evict_hold(hold, at));
        if !evicted.clients.is_empty() {
            self.hints.evicted(name);
        }
        Ok(evicted.holders.pop())
    }

    async fn hint_holders(&self, name: &LockName) -> Result<(), Fault> {
        self.hints.evicted(name);
        Ok(())
    }

    async fn read_slots(&self, name: &LockName) -> Result<StoredSlots, Fault> {
        let now = self.clock.wall();
        let mut names = self.lock();
        names.slots.retain(|_, (_, until)| *until > now);
        Ok(StoredSlots { text: names.slots.get(name).map(|(text, _)| text.clone()), now })
    }

    async fn write_slots(
        &self,
        name: &LockName,
        owner: &Owner,
        write: &SlotsWrite,
    ) -> Result<SlotsWritten, Fault> {
        check_slot_record(&write.text)?;
        let (at, now) = (self.decision_context(), self.clock.wall());
        let until = now.saturating_add(u64::try_from(write.keep.as_micros()).unwrap_or(u64::MAX));
        let mut names = self.lock();
        let mut state = names.take(name);
        let holds = state.holds_alone(owner, &at);
        names.put(name, state, &at);
        if !holds {
            return Ok(SlotsWritten::NotHeld);
        }
        let known = names.slots.get(name).filter(|(_, until)| *until > now);
        if !write.replaces(known.map(|(text, _)| &**text)) {
            return Ok(SlotsWritten::Changed);
        }
        names.slots.insert(name.clone(), (write.text.clone(), until));
        Ok(SlotsWritten::Written)
    }

    async fn read_history(&self, name: &LockName) -> Result<StoredHistory, Fault> {
        Ok(self.lock().histories.read(name, self.clock.wall()))
    }

    async fn add_history(&self, name: &LockName, write: &HistoryWrite) -> Result<(), Fault> {
        self.lock().histories.add(name, write, self.clock.wall());
        Ok(())
    }

    async fn incarnation(&self) -> Result<Incarnation, Fault> {
        Ok(Incarnation::from_bytes(self.lock().losses.to_be_bytes()))
    }

    async fn server(&self) -> Result<Option<String>, Fault> {
        Ok(Some(format!("memory {} of process {}", self.number, std::process::id())))
    }

    async fn health(&self) -> Result<Vec<Diagnostic>, Fault> {
        let help = "open another store to share locks between processes";
        Ok(vec![Diagnostic::warning("reach", "only this process shares these locks", "S1", help)])
    }

    #[cfg(unix)]
    fn liveness(&self) -> Option<std::os::fd::OwnedFd> {
        None
    }
}
