//! One client of a store, which tries again as a client does when an answer fails to come.

use std::{fmt, future::Future, pin::Pin, sync::Arc, time::Duration};

use tenure_core::{
    Evictions, Fault, FaultKind, HoldId, Incarnation, LockName, Store, Wakeups,
    proto::{
        Owner, Renewed, Token,
        queue::{
            self, Answer, Ask, Contender, Intent, Kind, Mode, Order, Position, Raised, Released,
            Snapshot, TakeOver, TakenOver, Together,
        },
    },
    store::{
        Capabilities, Diagnostic, HistoryWrite, LeaseScope, Listing, Renewal, SlotsWrite,
        SlotsWritten, StoredHistory, StoredSlots,
    },
};

use super::scene::{LONG, STEP, Scene, name};

/// How often a call is sent before the case gives up.
const ATTEMPTS: u32 = 100;

type Call<'a, T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + Send + 'a>>;

/// A client of one name. Calls whose answer never came are sent again, with the same owner.
#[derive(Clone)]
pub struct Client {
    scene: Scene,
    store: Arc<dyn Store>,
    name: LockName,
}

/// An ask that was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The fencing token.
    pub token: Token,
    /// What remains of the lease.
    pub left: Duration,
    /// Whether others wait.
    pub others_waiting: bool,
}

/// An ask that was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Busy {
    /// When to ask again at the latest.
    pub retry_after: Duration,
    /// How many come first.
    pub ahead: u32,
    /// Who holds the name.
    pub holder: Option<Contender>,
    /// The place in the queue.
    pub position: Option<Position>,
}

impl Scene {
    /// One more client of the place.
    pub async fn client(&self) -> Client {
        Client::new(self.clone(), self.adapter.open().await)
    }

    /// Ends a client like its process. `false` when that cannot be shown.
    pub async fn kill(&self, client: Client) -> bool {
        let store = client.into_store();
        self.adapter.kill(store).await
    }
}

impl Client {
    pub(super) fn new(scene: Scene, store: Arc<dyn Store>) -> Self {
        Self { scene, store, name: name("lock") }
    }

    /// The same client for another name.
    #[must_use]
    pub fn on(&self, text: &str) -> Self {
        Self { name: name(text), ..self.clone() }
    }

    /// The client that tenure's own thread would use.
    #[must_use]
    pub fn engine(&self) -> Self {
        Self { store: self.store.for_engine(), ..self.clone() }
    }

    /// The store itself.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    pub(super) fn into_store(self) -> Arc<dyn Store> {
        self.store
    }

    /// The lock's name.
    #[must_use]
    pub fn name(&self) -> &LockName {
        &self.name
    }

    /// What the store says that it can do.
    #[must_use]
    pub fn can(&self) -> &Capabilities {
        self.store.capabilities()
    }

    /// What has to be left of a lease of `ttl` that has just begun. Where leases belong to a session it is as much
    /// as that leaves, whatever was asked for.
    #[must_use]
    pub fn full(&self, ttl: Duration) -> Duration {
        match self.can().lease {
            // What is proven may be older than the call.
            LeaseScope::Session { .. } => self.can().lease.at_most(ttl) / 3,
            _ => ttl / 2,
        }
    }

    /// Checks that nothing was added to what is left of a lease. Where leases belong to a session any
    /// call may add to it.
    #[track_caller]
    pub fn not_extended(&self, later: Duration, earlier: Duration) {
        let may = matches!(self.can().lease, LeaseScope::Session { .. });
        assert!(may || later <= earlier, "{later:?} after {earlier:?}");
    }

    /// An ask of a fresh owner that leaves nothing behind, for a long exclusive lease.
    #[must_use]
    pub fn tries(&self) -> Ask {
        Ask {
            owner: self.scene.owner(),
            kind: Kind::Mutex,
            mode: Mode::Exclusive,
            order: if self.can().fifo { Order::Fifo } else { Order::Barging },
            intent: Intent::Try,
            ttl: LONG,
            label: "somebody".into(),
        }
    }

    /// An ask of a fresh owner that keeps a place.
    #[must_use]
    pub fn waits(&self) -> Ask {
        Ask { intent: Intent::Wait { position: None }, ..self.tries() }
    }

    /// What makes the hold of `from` that of a fresh owner, who holds it as an exclusive one for long.
    #[must_use]
    pub fn taking_over(&self, from: &Owner) -> TakeOver {
        let Ask { owner, kind, mode, ttl, label, .. } = self.tries();
        TakeOver { from: *from, owner, kind, mode, ttl, label, detached: false }
    }

    /// Asks, and answers with any lasting fault.
    ///
    /// # Errors
    /// The store's fault, unless it is of the kind that passes.
    pub async fn ask(&self, ask: &Ask) -> Result<Answer, Fault> {
        self.patiently(|| self.store.acquire(&self.name, ask)).await.0
    }

    /// Asks for several names in one step, whatever the name of this client is, and answers with any
    /// lasting fault.
    ///
    /// # Errors
    /// The store's fault, unless it is of the kind that passes.
    pub async fn ask_together(&self, asks: &[(LockName, Ask)]) -> Result<Together, Fault> {
        self.patiently(|| self.store.acquire_together(asks)).await.0
    }

    /// Asks, and must be granted the name.
    pub async fn lock(&self, ask: &Ask) -> Grant {
        granted(expect_success(self.ask(ask).await))
    }

    /// Asks, and must find the name taken.
    pub async fn busy(&self, ask: &Ask) -> Busy {
        busy(expect_success(self.ask(ask).await))
    }

    /// Asks again and again until the name is granted, at most for `within`.
    pub async fn lock_within(&self, ask: &Ask, within: Duration) -> Grant {
        let mut waited = Duration::ZERO;
        loop {
            let answer = expect_success(self.ask(ask).await);
            if matches!(answer, Answer::Granted { .. }) {
                return granted(answer);
            }
            assert!(waited <= within, "not granted within {within:?}: {answer:?}");
            self.scene.pass(STEP).await;
            waited += STEP;
        }
    }

    /// Renews one hold.
    pub async fn renew(&self, owner: &Owner, ttl: Duration) -> Renewed {
        let answers = self.renew_all(&[self.renewal(owner, ttl)]).await;
        match answers.as_slice() {
            [answer] => *answer,
            other => panic!("one hold renewed, {} answers came", other.len()),
        }
    }

    /// One hold to be renewed.
    #[must_use]
    pub fn renewal(&self, owner: &Owner, ttl: Duration) -> Renewal {
        Renewal { name: self.name.clone(), owner: *owner, ttl }
    }

    /// Renews holds until each is answered.
    pub async fn renew_all(&self, holds: &[Renewal]) -> Vec<Renewed> {
        for _ in 0..ATTEMPTS {
            let answers = self.scene.call(self.store.renew(holds)).await;
            let said: Result<Vec<_>, _> = answers.into_iter().collect();
            if let Ok(answers) = said {
                assert!(
                    !answers.contains(&Renewed::Unknown),
                    "what fails is an error: {answers:?}"
                );
                return answers;
            }
        }
        panic!("renewals were never answered");
    }

    /// Gives up whatever `owner` has.
    pub async fn release(&self, owner: &Owner) -> Released {
        expect_success(self.release_keeping(owner, Duration::ZERO).await)
    }

    /// Gives up what `owner` surely has: an answer that came only to the second attempt may say
    /// that the first one did it.
    pub async fn let_go(&self, owner: &Owner) {
        self.let_go_keeping(owner, Duration::ZERO).await;
    }

    /// The same, the name staying taken for `keep`.
    pub async fn let_go_keeping(&self, owner: &Owner, keep: Duration) {
        let (answer, doubted) =
            self.patiently(|| self.store.release(&self.name, owner, keep)).await;
        let answer = expect_success(answer);
        assert!(answer == Released::Released || doubted, "a release answered {answer:?}");
    }

    /// Gives up what `owner` has, the name staying taken for `keep`.
    ///
    /// # Errors
    /// The store's fault, unless it is of the kind that passes.
    pub async fn release_keeping(&self, owner: &Owner, keep: Duration) -> Result<Released, Fault> {
        self.patiently(|| self.store.release(&self.name, owner, keep)).await.0
    }

    /// Lets others have their turn.
    pub async fn turn(&self, owner: &Owner, ask: &Ask) -> Answer {
        expect_success(self.patiently(|| self.store.turn(&self.name, owner, ask)).await.0)
    }

    /// Takes a hold over from another owner.
    ///
    /// # Errors
    /// The store's fault, unless it is of the kind that passes.
    pub async fn try_take_over(&self, over: &TakeOver) -> Result<TakenOver, Fault> {
        self.patiently(|| self.store.take_over(&self.name, over)).await.0
    }

    /// Takes a hold over from another owner, and must get it.
    pub async fn take_over(&self, over: &TakeOver) -> Grant {
        match expect_success(self.try_take_over(over).await) {
            TakenOver::Granted(queue::Grant { token, left, others_waiting }) => {
                Grant { token, left, others_waiting }
            }
            TakenOver::NotHeld => panic!("not taken over: the old owner is said to hold nothing"),
        }
    }

    /// Tries to take a hold over from an owner who has none.
    pub async fn takes_nothing_over(&self, over: &TakeOver) {
        let answer = expect_success(self.try_take_over(over).await);
        assert_eq!(answer, TakenOver::NotHeld);
    }

    /// Writes a greater token into a hold.
    ///
    /// # Errors
    /// The store's fault, unless it is of the kind that passes.
    pub async fn raise(&self, owner: &Owner, token: Token) -> Result<Raised, Fault> {
        self.patiently(|| self.store.raise(&self.name, owner, token)).await.0
    }

    /// The record of the name's slots.
    ///
    /// # Errors
    /// The store's fault, unless it is of the kind that passes.
    pub async fn read_slots(&self) -> Result<StoredSlots, Fault> {
        self.patiently(|| self.store.read_slots(&self.name)).await.0
    }

    /// Replaces the record of the name's slots.
    ///
    /// # Errors
    /// The store's fault, unless it is of the kind that passes.
    pub async fn write_slots(
        &self,
        owner: &Owner,
        write: &SlotsWrite,
    ) -> Result<SlotsWritten, Fault> {
        self.patiently(|| self.store.write_slots(&self.name, owner, write)).await.0
    }

    /// The events of the name's history.
    ///
    /// # Errors
    /// The store's fault, unless it is of the kind that passes.
    pub async fn read_history(&self) -> Result<StoredHistory, Fault> {
        self.patiently(|| self.store.read_history(&self.name)).await.0
    }

    /// Adds events to the name's history.
    ///
    /// # Errors
    /// The store's fault, unless it is of the kind that passes.
    pub async fn add_history(&self, write: &HistoryWrite) -> Result<(), Fault> {
        self.patiently(|| self.store.add_history(&self.name, write)).await.0
    }

    /// Who holds the name and who waits for it.
    pub async fn inspect(&self) -> Snapshot {
        expect_success(self.patiently(|| self.store.inspect(&self.name)).await.0)
    }

    /// Names in use.
    pub async fn list(&self, prefix: &str, limit: usize) -> Listing {
        expect_success(self.patiently(|| self.store.list(prefix, limit)).await.0)
    }

    /// Takes the name from whoever holds it; `None` when the answer that says from whom was lost.
    pub async fn evict(&self) -> Option<Vec<Contender>> {
        let (answer, doubted) = self.patiently(|| self.store.evict(&self.name)).await;
        let evicted = expect_success(answer);
        (!doubted || !evicted.is_empty()).then_some(evicted)
    }

    /// Hints to the holders of the name.
    pub async fn hint_holders(&self) {
        let (answer, _) = self.patiently(|| self.store.hint_holders(&self.name)).await;
        expect_success(answer);
    }

    /// Takes the name from the one hold of this id; `None` when the answer was lost that says whether it was there.
    pub async fn evict_hold(&self, hold: HoldId) -> Option<Option<Contender>> {
        let (answer, doubted) = self.patiently(|| self.store.evict_hold(&self.name, hold)).await;
        let evicted = expect_success(answer);
        (!doubted || evicted.is_some()).then_some(evicted)
    }

    /// Which memory of the store this is.
    ///
    /// # Errors
    /// The store's fault, unless it is of the kind that passes.
    pub async fn incarnation(&self) -> Result<Incarnation, Fault> {
        self.patiently(|| self.store.incarnation()).await.0
    }

    /// What a look at the store brings up.
    pub async fn health(&self) -> Vec<Diagnostic> {
        expect_success(self.patiently(|| self.store.health()).await.0)
    }

    /// The wake-ups of one waiter.
    #[must_use]
    pub fn wakeups(&self, owner: &Owner) -> Wakeups {
        self.store.wakeups(&self.name, owner)
    }

    /// What this process is told of evictions from now on, as tenure's own thread is.
    #[must_use]
    pub fn evictions(&self) -> Evictions {
        self.store.for_engine().evictions()
    }

    /// Sends a call until it is answered, and says whether it may have taken effect before.
    async fn patiently<'a, T>(
        &self,
        call: impl Fn() -> Call<'a, T> + Send + Sync,
    ) -> (Result<T, Fault>, bool)
    where
        T: Send,
    {
        let mut doubted = false;
        for _ in 0..ATTEMPTS {
            match self.scene.call(call()).await {
                Err(fault) if fault.is_transient() => doubted |= fault.kind() == FaultKind::InDoubt,
                outcome => return (outcome, doubted),
            }
        }
        panic!("a call was never answered");
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("store", &self.store).field("name", &self.name).finish()
    }
}

/// The outcome of a call that must not fail.
#[track_caller]
pub(super) fn expect_success<T>(outcome: Result<T, Fault>) -> T {
    match outcome {
        Ok(value) => value,
        Err(fault) => panic!("the store failed: {fault:#} ({:?})", fault.kind()),
    }
}

/// An answer that must be a grant.
#[track_caller]
#[must_use]
pub(super) fn granted(answer: Answer) -> Grant {
    match answer {
        Answer::Granted { token, left, others_waiting } => Grant { token, left, others_waiting },
        Answer::Busy { .. } => panic!("not granted: {answer:?}"),
    }
}

/// An answer that must not be a grant.
#[track_caller]
#[must_use]
pub(super) fn busy(answer: Answer) -> Busy {
    match answer {
        Answer::Busy { retry_after, ahead, holder, position } => {
            Busy { retry_after, ahead, holder, position }
        }
        Answer::Granted { .. } => panic!("granted although it is taken: {answer:?}"),
    }
}
