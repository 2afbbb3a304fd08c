//! The checker: told of everything that happens, it says what must not have happened.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tenure_core::{
    AcquireError, Clock, LockName, LostReason, MemoryStore, ShutdownError, Store, Timestamp, Token,
    proto::{queue::Snapshot, turn},
};
use tokio::sync::Notify;

use super::{
    Counts, Told, Violation, Watched, history::History, tokens::Tokens, view::View, watched::Hold,
};
use crate::sim::SimClock;

/// What may lie between a moment and its being noticed: timers of the simulation fire at whole
/// milliseconds.
const TICK: Duration = Duration::from_millis(2);
/// How long a release may take before it is left to the background.
const RELEASE: Duration = Duration::from_secs(2);

/// Watches one run.
#[derive(Debug)]
pub struct Checker {
    store: MemoryStore,
    clock: SimClock,
    longest_lease: Duration,
    state: Mutex<State>,
    failed: Notify,
}

#[derive(Debug)]
struct State {
    history: History,
    holds: Vec<Hold>,
    tokens: Tokens,
    counts: Counts,
    data_lost: Option<Timestamp>,
    /// When leases were last lost with the data or taken away.
    leases_gone: Option<Timestamp>,
}

impl Checker {
    /// Watches a run over `store`, whose true time is `clock`.
    #[must_use]
    pub fn new(
        store: MemoryStore,
        clock: SimClock,
        longest_lease: Duration,
        trace: bool,
    ) -> Arc<Self> {
        let state = State {
            history: History::new(trace),
            holds: Vec::new(),
            tokens: Tokens::default(),
            counts: Counts::default(),
            data_lost: None,
            leases_gone: None,
        };
        let failed = Notify::new();
        Arc::new(Self { store, clock, longest_lease, state: Mutex::new(state), failed })
    }

    /// Returns as soon as a promise was broken.
    pub async fn failed(&self) {
        self.failed.notified().await;
    }

    /// What was found, the number made of all that happened, how much that was, and the trace.
    #[must_use]
    pub fn verdict(&self) -> (Option<Violation>, u64, Counts, Vec<String>) {
        let mut state = self.lock();
        let lines = std::mem::take(&mut state.history.lines);
        (state.history.violation.clone(), state.history.fingerprint, state.counts, lines)
    }

    /// Something happened to a process.
    pub fn note(&self, process: u64, what: &str) {
        let now = self.clock.now();
        self.lock().history.record(now, format_args!("process {process}: {what}"));
    }

    /// A task got a guard. Answers what the hold is called from then on.
    pub async fn acquired(&self, watched: Watched) -> usize {
        let name = watched.name.clone();
        let hold = self.begins(watched);
        self.look(&name).await;
        hold
    }

    fn begins(&self, watched: Watched) -> usize {
        let now = self.clock.now();
        let mut state = self.lock();
        let (name, token, process) = (watched.name.clone(), watched.token, watched.process);
        state.history.record(now, format_args!("process {process}: holds {name} with {token}"));
        state.counts.holds += 1;
        let hold = Hold { watched, began: now, failed: false, gone: false, ended: None };
        let valid = hold.valid();
        let lossless = self.lossless(&state);
        if let Some(wrong) = state.tokens.begins(&name, token, valid && lossless) {
            self.broken(&mut state, "S2", wrong);
        }
        if token.pass() == 0 {
            if !valid {
                self.broken(&mut state, "S3", format!("{token} was over when it was granted"));
            }
            let began = hold.watched.clock.now();
            state.tokens.granted(&name, token, began);
        } else {
            state.counts.passes += 1;
            if let Some(wrong) = too_long(&state, &hold) {
                self.broken(&mut state, "S8", wrong);
            }
        }
        state.holds.push(hold);
        state.holds.len() - 1
    }

    /// Looks at all holds of a name, and at what the store keeps of it.
    pub async fn look(&self, name: &LockName) {
        let snapshot = self.store.inspect(name).await.unwrap_or_default();
        let now = self.clock.now();
        let view = View::new(&snapshot, now);
        let mut state = self.lock();
        let lossless = self.lossless(&state);
        let mut valid = Vec::new();
        let mut wrong = Vec::new();
        for hold in state.holds.iter_mut().filter(|hold| hold.watched.name == *name) {
            if hold.ended.is_some() {
                continue;
            }
            let has = view.has(hold);
            if has && hold.gone {
                wrong.push(("S7", format!("the lease of {} came back", hold.watched.token)));
            }
            hold.gone |= !has;
            if !hold.valid() {
                hold.failed = true;
                continue;
            }
            if hold.failed {
                wrong.push(("S3", format!("the lost hold {} came back", hold.watched.token)));
            }
            if lossless {
                wrong.extend(view.wrong(hold).map(|what| ("S3", what)));
            }
            valid.push(hold.watched.token);
        }
        if valid.len() > 1 {
            if lossless {
                wrong.push(("S1", format!("{name} is held together by {valid:?}")));
            }
            state.counts.overlaps += 1;
        }
        for (promise, what) in wrong {
            self.broken(&mut state, promise, what);
        }
    }

    /// A task was told that its hold is lost.
    pub fn told(&self, hold: usize, told: Told) {
        let now = self.clock.now();
        let mut state = self.lock();
        state.counts.losses += 1;
        let Some(lost) = state.holds.get(hold) else { return };
        let token = lost.watched.token;
        let deadline = lost.deadline().unwrap_or(now);
        let (ttl, trouble) = (lost.watched.ttl, told.last_trouble.max(lost.began));
        state.history.record(now, format_args!("{token} is lost: {:?}", told.reason));
        let resumed_late = told.resumed >= deadline;
        if now > deadline.saturating_add(TICK) && !resumed_late {
            let late = now.since(deadline);
            self.broken(&mut state, "S3", format!("{token} was told lost {late:?} too late"));
        }
        let calm = deadline.since(trouble) > ttl * 6 / 10 + TICK * 10;
        if told.reason == LostReason::Deadline && calm {
            let what = format!("{token} was lost at its deadline although all went well for long");
            self.broken(&mut state, "S7", what);
        }
    }

    /// A hold is over.
    pub fn ended(&self, hold: usize) {
        let now = self.clock.now();
        if let Some(hold) = self.lock().holds.get_mut(hold) {
            hold.ended = Some(now);
        }
    }

    /// A release took so long.
    pub fn released_within(
        &self,
        process: u64,
        took: Duration,
        resumed: Timestamp,
        sent: Timestamp,
    ) {
        if took > RELEASE + TICK && resumed < sent {
            let what = format!("a release of process {process} took {took:?}");
            self.broken(&mut self.lock(), "S9", what);
        }
    }

    /// An acquisition failed.
    pub fn refused(&self, error: &AcquireError) {
        let mut state = self.lock();
        match error {
            AcquireError::InDoubt(_) => state.counts.in_doubt += 1,
            AcquireError::TimedOut(_) | AcquireError::Unreachable(_) => {}
            other => self.broken(&mut state, "S9", format!("an acquire failed: {other}")),
        }
    }

    /// A write reached the resources of a name.
    pub fn wrote(&self, name: &LockName, token: Token, accepted: bool, harm: bool) {
        let now = self.clock.now();
        let mut state = self.lock();
        state.history.record(now, format_args!("{name} is written with {token}: {accepted}"));
        state.counts.harm += u64::from(harm);
        if !accepted {
            state.counts.fenced_off += 1;
            return;
        }
        state.counts.accepted += 1;
        if let Some(wrong) = state.tokens.accepted(name, token) {
            self.broken(&mut state, "S2", wrong);
        }
    }

    /// Whether the store may lose its data and go on at `wall`, without breaking the assumption of
    /// promise S2.
    #[must_use]
    pub fn may_lose_data(&self, wall: u64) -> bool {
        self.lock().tokens.greatest_time() < wall
    }

    /// Whether the store has lost its data before.
    #[must_use]
    pub fn has_lost_data(&self) -> bool {
        self.lock().data_lost.is_some()
    }

    /// The store loses its data now.
    pub fn lost_data(&self) {
        let now = self.clock.now();
        let mut state = self.lock();
        state.history.record(now, format_args!("the store loses its data"));
        state.data_lost = Some(now);
        state.leases_gone = Some(now);
        for hold in &mut state.holds {
            hold.gone = true;
        }
    }

    /// An operator takes a name from its holder now, who hears of it by the next renewal.
    pub fn evicted(&self, name: &LockName) {
        let now = self.clock.now();
        let mut state = self.lock();
        state.history.record(now, format_args!("{name} is taken from its holder"));
        state.leases_gone = Some(now);
    }

    /// A task still waits although nothing went wrong for long.
    pub fn stuck(&self, process: u64, bound: Duration) {
        let what =
            format!("a task of process {process} still waits {bound:?} after the last fault");
        self.broken(&mut self.lock(), "S6", what);
    }

    /// What is left of a name when nothing may be left.
    pub fn nothing_left(&self, name: &LockName, left: &Snapshot) {
        if *left != Snapshot::default() {
            let what = format!("{name} is not free in the end: {left:?}");
            self.broken(&mut self.lock(), "S5", what);
        }
    }

    /// A `Tenure` did not shut down.
    pub fn not_shut_down(&self, process: u64, error: &ShutdownError) {
        self.broken(&mut self.lock(), "S5", format!("process {process}: {error}"));
    }

    /// Whether no hold is left whose lease the store lost.
    fn lossless(&self, state: &State) -> bool {
        // A slow clock counts a lease for somewhat longer.
        let over = self.longest_lease * 11 / 10;
        state.leases_gone.is_none_or(|lost| self.clock.now().since(lost) > over)
    }

    fn broken(&self, state: &mut State, promise: &'static str, what: String) {
        state.history.broken(self.clock.now(), promise, what);
        self.failed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is wrong with how long a lease was passed on inside its process, if anything is.
fn too_long(state: &State, hold: &Hold) -> Option<String> {
    let token = hold.watched.token;
    if token.pass() > u64::from(turn::PASSES) {
        return Some(format!("{token} is pass {} of its turn", token.pass()));
    }
    let granted = state.tokens.granted_at(&hold.watched.name, token)?;
    let length = hold.watched.clock.now().since(granted);
    let stood_still = hold.watched.resumed > hold.watched.clock.true_at(granted);
    (length > turn::LENGTH + TICK && !stood_still)
        .then(|| format!("{token} was passed on {length:?} after its turn began"))
}
