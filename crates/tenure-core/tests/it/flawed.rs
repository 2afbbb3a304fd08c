//! A memory store that can do less, or whose answers get lost.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tenure_core::{
    Clock, Eviction, Evictions, Fault, FaultKind, HintBoard, HoldId, Incarnation, LockName,
    ManualClock, MemoryStore, Owner, Store, Tenure, Token, Wakeups,
    proto::{
        Renewed,
        queue::{
            Answer, Ask, Contender, Intent, Mode, Raised, Released, Snapshot, TakeOver, TakenOver,
            Together,
        },
    },
    store::{
        Capabilities, Diagnostic, HistoryWrite, Listing, Renewal, SlotsWrite, SlotsWritten,
        StoredHistory, StoredSlots,
    },
};

use crate::on_manual_clock;

/// A call that it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// To tell of hints.
    Listen,
    Ask(Intent),
    Turn(Intent),
    TakeOver,
    Release,
}

/// What is wrong with a kind of call.
#[derive(Clone, Debug)]
pub(crate) enum Flaw {
    /// It arrives so late.
    Late(ManualClock, Duration),
    /// It is never answered, and arrives nowhere.
    Silent,
    /// It fails in this way.
    Fails(FaultKind),
    /// It is carried out, and never answered.
    Unanswered,
    /// It panics.
    Panics,
    /// It arrives so late by the machine's clock.
    Slow(Duration),
}

/// What is wrong with some kinds of calls.
#[derive(Debug, Default)]
pub(crate) struct Flaws {
    pub(crate) ask: Option<Flaw>,
    pub(crate) renew: Option<Flaw>,
    /// For how long it renews at most, whatever it is asked for.
    pub(crate) longest_renewal: Option<Duration>,
    pub(crate) release: Option<Flaw>,
    pub(crate) take_over: Option<Flaw>,
    pub(crate) inspect: Option<Flaw>,
    /// Of lists, evictions of one hold, and health.
    pub(crate) oversight: Option<Flaw>,
    /// Of writes of the records of slots.
    pub(crate) slots: Option<Flaw>,
    /// Of writes of histories.
    pub(crate) history: Option<Flaw>,
    /// Of which nobody hears.
    pub(crate) hints: Option<Flaw>,
}

/// Does what it says it can, and answers only every other time while answers are to be lost. It
/// panics when it is asked for anything else.
#[derive(Clone, Debug)]
pub(crate) struct Flawed {
    store: MemoryStore,
    can: Arc<Capabilities>,
    calls: Arc<AtomicU32>,
    lost: Arc<AtomicU32>,
    /// Whether no release arrives.
    cut_off: Arc<AtomicBool>,
    /// Whether asks are refused, so that they certainly have no effect.
    refuses: Arc<AtomicBool>,
    /// Whether asks are carried out and never answered.
    silent: Arc<AtomicBool>,
    /// The last ask for one name whose answer got lost.
    doubtful: Arc<Mutex<Option<(LockName, Ask)>>>,
    /// How often it was asked for one name, and for several.
    asks: Arc<[AtomicU32; 2]>,
    diary: Arc<Mutex<Vec<Call>>>,
    /// What passes before an ask for several names is answered.
    slow: Option<(ManualClock, Duration)>,
    flaws: Arc<Mutex<Flaws>>,
    forged: HintBoard,
    mute: Arc<AtomicBool>,
    /// Whether each hint that is heard is followed by another one at once.
    flooded: Arc<AtomicBool>,
    /// Who asked last for which name.
    last: Arc<Mutex<BTreeMap<LockName, Owner>>>,
    renewals: Arc<AtomicU32>,
    inspects: Arc<AtomicU32>,
    /// Whether waiters hear of forged hints alone.
    hinted: Arc<AtomicBool>,
}

/// A tenure on such a store, on a clock that stands still.
pub(crate) fn on_flawed() -> (Tenure, Flawed, ManualClock) {
    let (tenure, engine, flawed, clock) = on_flawed_engine();
    tokio::spawn(engine);
    (tenure, flawed, clock)
}

/// The same with its engine, for the test to run or to stop.
pub(crate) fn on_flawed_engine()
-> (Tenure, impl Future<Output = ()> + Send + 'static, Flawed, ManualClock) {
    let (_, _, store, clock) = on_manual_clock();
    let flawed = Flawed::new(store);
    let builder = Tenure::builder(Arc::new(flawed.clone())).clock(Arc::new(clock.clone()));
    let (tenure, engine) = builder.build_inline();
    (tenure, engine, flawed, clock)
}

impl Flawed {
    pub(crate) fn new(store: MemoryStore) -> Self {
        let can = Arc::new(store.capabilities().clone());
        Self {
            store,
            can,
            calls: Arc::default(),
            lost: Arc::default(),
            cut_off: Arc::default(),
            refuses: Arc::default(),
            silent: Arc::default(),
            doubtful: Arc::default(),
            asks: Arc::default(),
            diary: Arc::default(),
            slow: None,
            flaws: Arc::default(),
            forged: HintBoard::new(),
            mute: Arc::default(),
            flooded: Arc::default(),
            last: Arc::default(),
            renewals: Arc::default(),
            inspects: Arc::default(),
            hinted: Arc::default(),
        }
    }

    /// The same store, which says that it can do less.
    pub(crate) fn without(mut self, change: impl FnOnce(&mut Capabilities)) -> Self {
        change(Arc::make_mut(&mut self.can));
        self
    }

    /// The same store, which answers an ask for several names so late.
    pub(crate) fn slow(self, clock: ManualClock, late: Duration) -> Self {
        Self { slow: Some((clock, late)), ..self }
    }

    /// How many copies there are of it.
    pub(crate) fn copies(&self) -> usize {
        Arc::strong_count(&self.can)
    }

    /// Changes what is wrong with calls from now on.
    pub(crate) fn flaws(&self, change: impl FnOnce(&mut Flaws)) {
        change(&mut self.flaws.lock().unwrap());
    }

    /// Keeps a call for as long as is wrong with it.
    async fn hinder(&self, which: impl FnOnce(&Flaws) -> &Option<Flaw>) -> Result<(), Fault> {
        let flaw = which(&self.flaws.lock().unwrap()).clone();
        match flaw {
            None | Some(Flaw::Unanswered) => Ok(()),
            Some(Flaw::Late(clock, late)) => {
                clock.sleep_until(clock.now().saturating_add(late)).await;
                Ok(())
            }
            Some(Flaw::Silent) => std::future::pending().await,
            Some(Flaw::Panics) => panic!("on purpose"),
            Some(Flaw::Slow(late)) => {
                tokio::time::sleep(late).await;
                Ok(())
            }
            Some(Flaw::Fails(kind)) => Err(Fault::new(kind, "it is flawed", "mend it")),
        }
    }

    /// Keeps the answer of a call that was carried out.
    async fn withhold(&self, which: impl FnOnce(&Flaws) -> &Option<Flaw>) {
        let withholds = matches!(which(&self.flaws.lock().unwrap()), Some(Flaw::Unanswered));
        if withholds {
            std::future::pending::<()>().await;
        }
    }

    /// How often it was asked for one name, and for several.
    pub(crate) fn asks(&self) -> [u32; 2] {
        self.asks.each_ref().map(|asks| asks.load(Ordering::Relaxed))
    }

    /// The calls for one name since this was last asked.
    pub(crate) fn diary(&self) -> Vec<Call> {
        std::mem::take(&mut self.diary.lock().unwrap())
    }

    /// Loses this many answers of the next calls.
    pub(crate) fn lose_answers(&self, count: u32) {
        self.lost.store(count, Ordering::Relaxed);
    }

    /// Loses the answer of the very next call.
    pub(crate) fn lose_next_answer(&self) {
        self.calls.store(0, Ordering::Relaxed);
        self.lose_answers(1);
    }

    /// Whether releases are lost on their way from now on.
    pub(crate) fn cut_off(&self, cut_off: bool) {
        self.cut_off.store(cut_off, Ordering::Relaxed);
    }

    /// Whether asks cannot reach it from now on.
    pub(crate) fn refuse_asks(&self, refuses: bool) {
        self.refuses.store(refuses, Ordering::Relaxed);
    }

    /// Whether no ask is answered from now on.
    pub(crate) fn fall_silent(&self, silent: bool) {
        self.silent.store(silent, Ordering::Relaxed);
    }

    /// A copy of the last ask whose answer got lost arrives.
    pub(crate) async fn arrives_again(&self) -> Answer {
        let doubtful = self.doubtful.lock().unwrap().clone();
        let (name, ask) = doubtful.unwrap();
        self.store.acquire(&name, &ask).await.unwrap()
    }

    /// Tells of the eviction of a name that nobody evicted.
    pub(crate) fn forge_eviction(&self, name: &LockName) {
        self.forged.evicted(name);
    }

    /// Who asked last for a name.
    pub(crate) fn last(&self, name: &LockName) -> Owner {
        self.last.lock().unwrap()[name]
    }

    /// Tells whoever holds under this owner that somebody asks for its release.
    pub(crate) fn request_release(&self, owner: &Owner) {
        self.forged.release_requested(owner);
    }

    /// Says again and again that a name may have been taken, however fast that is heard.
    pub(crate) fn flood(&self, name: &LockName) {
        self.flooded.store(true, Ordering::Relaxed);
        self.forge_eviction(name);
    }

    /// Says that evictions may have been missed.
    pub(crate) fn miss_evictions(&self) {
        self.forged.evictions_missed();
    }

    /// Whether evictions are told of from now on.
    pub(crate) fn tell_evictions(&self, tell: bool) {
        self.mute.store(!tell, Ordering::Relaxed);
    }

    /// How many calls to renew came.
    pub(crate) fn renewals(&self) -> u32 {
        self.renewals.load(Ordering::Relaxed)
    }

    /// How often a name was inspected.
    pub(crate) fn inspects(&self) -> u32 {
        self.inspects.load(Ordering::Relaxed)
    }

    /// Whoever waits from now on hears of what [`Flawed::hint`] says alone.
    pub(crate) fn forge_hints(&self) {
        self.hinted.store(true, Ordering::Relaxed);
    }

    /// Says that a name may be free.
    pub(crate) fn hint(&self, name: &LockName) {
        self.forged.wake_name(name);
    }

    fn note(&self, call: Call) {
        self.diary.lock().unwrap().push(call);
    }

    fn answer<T>(&self, answer: Result<T, Fault>) -> Result<T, Fault> {
        let even = self.calls.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
        let left = self.lost.load(Ordering::Relaxed);
        if left == 0 || !even {
            return answer;
        }
        self.lost.store(left - 1, Ordering::Relaxed);
        Err(Fault::new(FaultKind::InDoubt, "the answer got lost", "ask again"))
    }
}

#[async_trait]
impl Store for Flawed {
    fn kind(&self) -> &'static str {
        "flawed"
    }

    fn location(&self) -> String {
        format!("flawed {}", self.store.location())
    }

    fn capabilities(&self) -> &Capabilities {
        &self.can
    }

    fn for_engine(&self) -> Arc<dyn Store> {
        Arc::new(self.clone())
    }

    fn wakeups(&self, name: &LockName, owner: &Owner) -> Wakeups {
        self.note(Call::Listen);
        let hinted = self.hinted.load(Ordering::Relaxed);
        if hinted { self.forged.listen(name, owner) } else { self.store.wakeups(name, owner) }
    }

    fn evictions(&self) -> Evictions {
        let (mute, flooded, forged) =
            (self.mute.clone(), self.flooded.clone(), self.forged.clone());
        let flaws = self.flaws.clone();
        let sources = vec![self.store.evictions(), self.forged.evictions()];
        Evictions::merged(sources, move |from, eviction| {
            assert!(flaws.lock().is_ok_and(|flaws| flaws.hints.is_none()), "on purpose");
            if let Eviction::Of(name) = eviction
                && flooded.load(Ordering::Relaxed)
            {
                forged.evicted(name);
            }
            from > 0 || !mute.load(Ordering::Relaxed)
        })
    }

    async fn acquire(&self, name: &LockName, ask: &Ask) -> Result<Answer, Fault> {
        let able = match ask.mode {
            Mode::Exclusive => true,
            Mode::Shared => self.can.shared,
            Mode::Permits { .. } => self.can.permits,
        };
        assert!(able, "asked for what it cannot do: {:?}", ask.mode);
        self.note(Call::Ask(ask.intent));
        self.last.lock().unwrap().insert(name.clone(), ask.owner);
        self.asks[0].fetch_add(1, Ordering::Relaxed);
        self.hinder(|flaws| &flaws.ask).await?;
        if self.refuses.load(Ordering::Relaxed) {
            return Err(Fault::new(FaultKind::Unreachable, "it cannot be reached", "ask again"));
        }
        // Without an order there are no places.
        let intent = if self.can.fifo { ask.intent } else { Intent::Try };
        let ask = &Ask { intent, ..ask.clone() };
        let answer = self.answer(self.store.acquire(name, ask).await);
        if answer.is_err() {
            *self.doubtful.lock().unwrap() = Some((name.clone(), ask.clone()));
        }
        if self.silent.load(Ordering::Relaxed) {
            return std::future::pending().await;
        }
        answer
    }

    async fn acquire_together(&self, asks: &[(LockName, Ask)]) -> Result<Together, Fault> {
        assert!(self.can.together, "asked for what it cannot do");
        self.asks[1].fetch_add(1, Ordering::Relaxed);
        let owners = asks.iter().map(|(name, ask)| (name.clone(), ask.owner));
        self.last.lock().unwrap().extend(owners);
        let answer = self.store.acquire_together(asks).await;
        if self.silent.load(Ordering::Relaxed) {
            return std::future::pending().await;
        }
        if let Some((clock, late)) = &self.slow {
            clock.advance(*late);
        }
        self.answer(answer)
    }

    async fn renew(&self, holds: &[Renewal]) -> Vec<Result<Renewed, Fault>> {
        self.renewals.fetch_add(1, Ordering::Relaxed);
        match self.hinder(|flaws| &flaws.renew).await {
            Ok(()) => {
                let most = self.flaws.lock().unwrap().longest_renewal.unwrap_or(Duration::MAX);
                let cut = |hold: &Renewal| Renewal { ttl: hold.ttl.min(most), ..hold.clone() };
                self.store.renew(&holds.iter().map(cut).collect::<Vec<_>>()).await
            }
            Err(fault) => vec![Err(fault); holds.len()],
        }
    }

    async fn release(
        &self,
        name: &LockName,
        owner: &Owner,
        keep: Duration,
    ) -> Result<Released, Fault> {
        self.note(Call::Release);
        self.hinder(|flaws| &flaws.release).await?;
        if self.cut_off.load(Ordering::Relaxed) {
            return Err(Fault::new(FaultKind::InDoubt, "the request got lost", "ask again"));
        }
        let answer = self.store.release(name, owner, keep).await;
        self.withhold(|flaws| &flaws.release).await;
        self.answer(answer)
    }

    async fn turn(&self, name: &LockName, owner: &Owner, ask: &Ask) -> Result<Answer, Fault> {
        self.note(Call::Turn(ask.intent));
        self.last.lock().unwrap().insert(name.clone(), ask.owner);
        self.answer(self.store.turn(name, owner, ask).await)
    }

    async fn take_over(&self, name: &LockName, over: &TakeOver) -> Result<TakenOver, Fault> {
        self.note(Call::TakeOver);
        self.hinder(|flaws| &flaws.take_over).await?;
        let answer = self.store.take_over(name, over).await;
        self.withhold(|flaws| &flaws.take_over).await;
        self.answer(answer)
    }

    async fn raise(&self, name: &LockName, owner: &Owner, token: Token) -> Result<Raised, Fault> {
        self.store.raise(name, owner, token).await
    }

    async fn inspect(&self, name: &LockName) -> Result<Snapshot, Fault> {
        self.inspects.fetch_add(1, Ordering::Relaxed);
        self.hinder(|flaws| &flaws.inspect).await?;
        self.answer(self.store.inspect(name).await)
    }

    async fn list(&self, prefix: &str, limit: usize) -> Result<Listing, Fault> {
        self.hinder(|flaws| &flaws.oversight).await?;
        self.store.list(prefix, limit).await
    }

    async fn evict(&self, name: &LockName) -> Result<Vec<Contender>, Fault> {
        self.answer(self.store.evict(name).await)
    }

    async fn evict_hold(&self, name: &LockName, hold: HoldId) -> Result<Option<Contender>, Fault> {
        self.hinder(|flaws| &flaws.oversight).await?;
        let answer = self.store.evict_hold(name, hold).await;
        self.withhold(|flaws| &flaws.oversight).await;
        self.answer(answer)
    }

    async fn hint_holders(&self, name: &LockName) -> Result<(), Fault> {
        self.store.hint_holders(name).await
    }

    async fn read_slots(&self, name: &LockName) -> Result<StoredSlots, Fault> {
        self.answer(self.store.read_slots(name).await)
    }

    async fn read_history(&self, name: &LockName) -> Result<StoredHistory, Fault> {
        self.answer(self.store.read_history(name).await)
    }

    async fn add_history(&self, name: &LockName, write: &HistoryWrite) -> Result<(), Fault> {
        self.hinder(|flaws| &flaws.history).await?;
        let answer = self.store.add_history(name, write).await;
        self.withhold(|flaws| &flaws.history).await;
        self.answer(answer)
    }

    async fn write_slots(
        &self,
        name: &LockName,
        owner: &Owner,
        write: &SlotsWrite,
    ) -> Result<SlotsWritten, Fault> {
        self.hinder(|flaws| &flaws.slots).await?;
        let answer = self.store.write_slots(name, owner, write).await;
        self.withhold(|flaws| &flaws.slots).await;
        self.answer(answer)
    }

    async fn incarnation(&self) -> Result<Incarnation, Fault> {
        self.store.incarnation().await
    }

    async fn server(&self) -> Result<Option<String>, Fault> {
        self.store.server().await
    }

    async fn health(&self) -> Result<Vec<Diagnostic>, Fault> {
        self.hinder(|flaws| &flaws.oversight).await?;
        self.store.health().await
    }

    #[cfg(unix)]
    fn liveness(&self) -> Option<std::os::fd::OwnedFd> {
        None
    }
}
