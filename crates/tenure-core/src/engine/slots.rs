//! The limit of what may be under way at a time.
//!
//! A slot is reserved before the first call to a store. So there is always room to hand the rest to the engine: no drop
//! ever has to wait, spawn or fail.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::Notify;

use crate::runtime::is_own_thread;

/// The longest time for which threads wait for releases, in all.
const PATIENCE: Duration = Duration::from_secs(1);

/// The slots of one [`Tenure`](crate::Tenure).
#[derive(Debug)]
pub(crate) struct Slots {
    limit: usize,
    process: u32,
    counts: Mutex<Counts>,
    /// Notifies tasks and threads of changes that they may wait for.
    quiet: Notify,
    calm: Condvar,
    engine: Arc<Notify>,
}

#[derive(Debug)]
struct Counts {
    taken: usize,
    /// How many of the taken slots are over, and how many of these are settled.
    over: usize,
    settled: usize,
    closed: bool,
    /// How many changes of histories are not written yet.
    unwritten: usize,
    /// Whether tenure's own thread runs the engine of these slots.
    engine_runs: bool,
    /// How many threads wait, and how much longer they may.
    threads: usize,
    patience: Duration,
}

/// Why no slot was given.
pub(crate) enum ReserveError {
    /// All slots are taken.
    Full {
        /// The number of slots.
        limit: usize,
    },
    /// There is no engine for new holds any more.
    Closed,
}

impl Slots {
    /// Makes `limit` slots. The engine that `engine` wakes learns when the last one is free.
    pub(crate) fn new(limit: usize, engine: &Arc<Notify>) -> Arc<Self> {
        let counts = Mutex::new(Counts {
            taken: 0,
            over: 0,
            settled: 0,
            closed: false,
            unwritten: 0,
            engine_runs: false,
            threads: 0,
            patience: PATIENCE,
        });
        let (quiet, calm, process) = (Notify::new(), Condvar::new(), std::process::id());
        Arc::new(Self { limit, process, counts, quiet, calm, engine: engine.clone() })
    }

    /// Reserves a slot for one hold, waiter or clean-up, until the slot is dropped.
    pub(crate) fn reserve(self: &Arc<Self>) -> Result<Slot, ReserveError> {
        let mut counts = self.lock();
        if counts.closed {
            return Err(ReserveError::Closed);
        }
        if counts.taken >= self.limit {
            return Err(ReserveError::Full { limit: self.limit });
        }
        counts.taken += 1;
        Ok(Slot { slots: self.clone(), over: false, settled: false })
    }

    /// Refuses new slots. The engine ends when nothing is left.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.engine.notify_one();
        self.quiet.notify_waiters();
    }

    /// Whether new slots are refused.
    pub(crate) fn are_closed(&self) -> bool {
        self.lock().closed
    }

    /// Returns when new slots are refused.
    pub(crate) async fn wait_until_closed(&self) {
        self.wait_until(|counts| counts.closed).await;
    }

    /// Whether no slot is taken and new ones are refused. A wait that is still under way may yet need a renewal, or
    /// have to be taken back.
    pub(crate) fn are_drained(&self) -> bool {
        let counts = self.lock();
        counts.closed && counts.taken == 0 && counts.unwritten == 0
    }

    /// The number of slots taken by holds and waiters, and by releases and clean-ups that were never answered yet.
    pub(crate) fn unsettled(&self) -> (usize, usize) {
        let counts = self.lock();
        (counts.taken - counts.over, counts.over - counts.settled)
    }

    /// Returns when every slot is free or settled.
    pub(crate) async fn wait_until_quiet(&self) {
        self.wait_until(|counts| counts.taken == counts.settled).await;
    }

    /// Returns when every change of a history was written or given up, or none is any more.
    pub(crate) async fn wait_until_written(&self) {
        self.wait_until(|counts| counts.unwritten == 0).await;
    }

    /// Returns when tenure's own thread no longer runs the engine of these slots.
    pub(crate) async fn wait_until_engine_stops(&self) {
        self.wait_until(|counts| !counts.engine_runs).await;
    }

    async fn wait_until(&self, is_so: impl Fn(&Counts) -> bool) {
        loop {
            let quiet = self.quiet.notified();
            let mut quiet = std::pin::pin!(quiet);
            quiet.as_mut().enable();
            if is_so(&self.lock()) {
                return;
            }
            quiet.await;
        }
    }

    /// Counts a change of a history that is not written yet, until the returned value is dropped.
    pub(crate) fn mark_unwritten(self: &Arc<Self>) -> UnwrittenGuard {
        self.lock().unwritten += 1;
        UnwrittenGuard(self.clone())
    }

    /// Tenure's own thread runs the engine of these slots from now on, until the returned value is dropped.
    pub(crate) fn mark_engine_running(self: &Arc<Self>) -> EngineRunningGuard {
        self.lock().engine_runs = true;
        EngineRunningGuard(self.clone())
    }

    /// Blocks this thread until the store has answered every release and clean-up of tenure's own thread, and has every
    /// change of a history. All such waits together take at most a second.
    pub(crate) fn wait_for_releases(&self) {
        let is_over = |counts: &Counts| counts.over == counts.settled && counts.unwritten == 0;
        self.block(PATIENCE, |counts| is_over(counts) || !counts.engine_runs);
    }

    /// Blocks this thread for a moment, until tenure's own thread no longer runs the engine of these slots.
    pub(crate) fn wait_for_engine(&self) {
        self.block(PATIENCE / 10, |counts| !counts.engine_runs);
    }

    /// Ends all waits for releases: a caller has already waited for as long as it chose.
    pub(crate) fn abort_waits(&self) {
        self.lock().patience = Duration::ZERO;
    }

    fn block(&self, limit: Duration, is_so: impl Fn(&Counts) -> bool) {
        // A forked child has no engine, and may lack the thread that had the slots locked.
        if self.process != std::process::id() || is_own_thread() {
            return;
        }
        let began = Instant::now();
        let mut counts = self.lock();
        if is_so(&counts) {
            return;
        }
        let limit = limit.min(counts.patience);
        counts.threads += 1;
        let waited = self.calm.wait_timeout_while(counts, limit, |counts| !is_so(counts));
        (counts, _) = waited.unwrap_or_else(PoisonError::into_inner);
        counts.threads -= 1;
        counts.patience = counts.patience.saturating_sub(began.elapsed());
    }

    /// Notifies the waiters. Call this after unlocking.
    fn tell(&self, threads: usize) {
        self.quiet.notify_waiters();
        if threads > 0 {
            self.calm.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Room for one hold, waiter or clean-up.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Arc<Slots>,
    over: bool,
    settled: bool,
}

impl Slot {
    /// Records that the user of the slot is over, which the store may not know yet.
    pub(crate) fn mark_ended(&mut self) {
        if !self.over {
            self.over = true;
            self.slots.lock().over += 1;
        }
    }

    /// Records that the store has nothing of the slot's user any more, as far as known. The slot stays taken for calls
    /// that may arrive late.
    pub(crate) fn settle(&mut self) {
        self.mark_ended();
        if !self.settled {
            self.settled = true;
            let mut counts = self.slots.lock();
            counts.settled += 1;
            let threads = counts.threads;
            drop(counts);
            self.slots.tell(threads);
        }
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.settled
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut counts = self.slots.lock();
        counts.taken -= 1;
        counts.over -= usize::from(self.over);
        counts.settled -= usize::from(self.settled);
        let quiet = counts.taken == counts.settled;
        let over = counts.closed && counts.taken == 0;
        let threads = counts.threads;
        drop(counts);
        if quiet || threads > 0 {
            self.slots.tell(threads);
        }
        if over {
            self.slots.engine.notify_one();
        }
    }
}

/// A change of a history that is not written yet.
#[derive(Debug)]
pub(crate) struct UnwrittenGuard(Arc<Slots>);

impl Drop for UnwrittenGuard {
    fn drop(&mut self) {
        let mut counts = self.0.lock();
        counts.unwritten -= 1;
        let (last, threads) = (counts.unwritten == 0, counts.threads);
        drop(counts);
        if last {
            self.0.tell(threads);
            self.0.engine.notify_one();
        }
    }
}

/// Tenure's own thread runs the engine of some slots.
#[derive(Debug)]
pub(crate) struct EngineRunningGuard(Arc<Slots>);

impl Drop for EngineRunningGuard {
    fn drop(&mut self) {
        let mut counts = self.0.lock();
        counts.engine_runs = false;
        let threads = counts.threads;
        drop(counts);
        self.0.tell(threads);
    }
}
