//! What all processes of a run share.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tenure_core::{Clock, LockName, MemoryStore, Timestamp, Token};

use super::{Plan, SimClock, plan::Locks, resource::Resources};
use crate::{check::Checker, fault::Tally};

/// The store, the time, and who watches.
#[derive(Debug)]
pub(super) struct World {
    pub(super) plan: Plan,
    pub(super) clock: SimClock,
    pub(super) store: MemoryStore,
    pub(super) check: Arc<Checker>,
    pub(super) tally: Arc<Tally>,
    pub(super) names: Vec<LockName>,
    resources: Resources,
    asks: AtomicU64,
    /// The time in the greatest token that the store has forgotten, whose holder may be told of it yet.
    forgotten: AtomicU64,
    /// Since when nothing goes wrong any more, in nanoseconds; zero before that.
    calm_at: AtomicU64,
}

impl World {
    pub(super) fn new(plan: Plan, trace: bool, tally: Arc<Tally>) -> Arc<Self> {
        let clock = SimClock::true_time();
        let store = MemoryStore::with_clock(Arc::new(clock.clone()));
        let longest_lease = plan.longest_lease() + super::plan::LONGEST_GRACE;
        let check = Checker::new(Arc::new(store.clone()), clock.clone(), longest_lease, trace);
        check.calls_are_late_by(if plan.late_calls {
            plan.faults.delay * 3
        } else {
            Duration::ZERO
        });
        let names = ["a", "b"].iter().filter_map(|name| LockName::new(name).ok());
        Arc::new(Self {
            names: names.take(usize::try_from(plan.names).unwrap_or(1)).collect(),
            plan,
            clock,
            store,
            check,
            tally,
            resources: Resources::default(),
            asks: AtomicU64::new(0),
            forgotten: AtomicU64::new(0),
            calm_at: AtomicU64::new(0),
        })
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Whether the store may lose its data and go on at `wall`, without breaking the assumption of
    /// promise S2.
    pub(super) fn may_lose_data(&self, wall: u64) -> bool {
        self.greatest_token_time() < wall
    }

    /// The store loses its data now.
    pub(super) fn lose_data(&self) {
        self.forgotten.store(self.greatest_token_time(), Ordering::Relaxed);
        self.check.lost_data();
        self.store.forget();
    }

    fn greatest_token_time(&self) -> u64 {
        self.store.last_token_time().max(self.forgotten.load(Ordering::Relaxed))
    }

    /// The names that are latches.
    pub(super) fn latches(&self) -> &[LockName] {
        if matches!(self.plan.locks, Locks::Latch { .. }) { &self.names } else { &[] }
    }

    /// The number of the next ask.
    pub(super) fn next_ask(&self) -> u64 {
        self.asks.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Whether nothing goes wrong any more.
    pub(super) fn calm(&self) -> bool {
        self.calm_at() > Timestamp::ZERO
    }

    /// Since when that is so.
    pub(super) fn calm_at(&self) -> Timestamp {
        Timestamp::from_nanos(self.calm_at.load(Ordering::Relaxed))
    }

    pub(super) fn calm_down(&self) {
        self.calm_at.store(self.now().as_nanos(), Ordering::Relaxed);
    }

    /// A write with `token` reaches the resources.
    pub(super) fn write(&self, name: &LockName, token: Token) {
        let written = self.resources.write(name, token);
        self.check.wrote(name, token, written.accepted, written.harm);
    }
}
