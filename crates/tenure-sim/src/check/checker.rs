//! The checker: told of everything that happens, it says what must not have happened.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tenure_core::{Clock, Timestamp};
use tokio::sync::Notify;

use super::{
    Counts, StoreOracle, Violation,
    history::History,
    state::{Forgotten, Latches, Observers, Queues, Slots, Tokens},
    watched::HoldRecord,
};
use crate::clock::SimClock;

/// What may lie between a moment and its being noticed: timers of the simulation fire at whole
/// milliseconds.
pub(super) const TICK: Duration = Duration::from_millis(2);

/// Watches one run.
#[derive(Debug)]
pub struct Checker {
    pub(super) keeper: Arc<dyn StoreOracle>,
    pub(super) clock: SimClock,
    longest_lease: Duration,
    state: Mutex<State>,
    failed: Notify,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) history: History,
    pub(super) holds: Vec<HoldRecord>,
    pub(super) tokens: Tokens,
    pub(super) counts: Counts,
    pub(super) queues: Queues,
    pub(super) observers: Observers,
    pub(super) latches: Latches,
    pub(super) slots: Slots,
    /// How many calls are under way that may take the lock from a run of a slot.
    pub(super) replacing: u32,
    pub(super) data_lost: bool,
    /// When leases were last lost with the data or taken away.
    pub(super) leases_gone: Option<Timestamp>,
    pub(super) forgotten: Forgotten,
}

impl Checker {
    /// Watches a run over what `keeper` keeps, whose true time is `clock`.
    #[must_use]
    pub fn new(
        keeper: Arc<dyn StoreOracle>,
        clock: SimClock,
        longest_lease: Duration,
        trace: bool,
    ) -> Arc<Self> {
        let state = State {
            history: History::new(trace),
            holds: Vec::new(),
            tokens: Tokens::default(),
            counts: Counts::default(),
            queues: Queues::default(),
            observers: Observers::default(),
            latches: Latches::default(),
            slots: Slots::default(),
            replacing: 0,
            data_lost: false,
            leases_gone: None,
            forgotten: Forgotten::default(),
        };
        let failed = Notify::new();
        Arc::new(Self { keeper, clock, longest_lease, state: Mutex::new(state), failed })
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

    /// Whether no hold is left whose lease the store lost.
    pub(super) fn lossless(&self, state: &State) -> bool {
        // A slow clock counts a lease for somewhat longer.
        let over = self.longest_lease * 11 / 10;
        let over = |lost| self.clock.now().since(lost) > over;
        state.replacing == 0 && state.leases_gone.is_none_or(over)
    }

    pub(super) fn broken(&self, state: &mut State, promise: &'static str, what: String) {
        state.history.broken(self.clock.now(), promise, what);
        self.failed.notify_one();
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
