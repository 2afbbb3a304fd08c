//! What all processes of a run share, with the one store that they are over.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tenure_core::{LockName, MemoryStore};

use super::{
    Plan, SimClock,
    client::{LONGEST_GRACE, LockKind, SharedContext, SimulationHooks, Terms},
};
use crate::check::Checker;
use tenure_testkit::fault::Tally;

/// The stage, and the store.
#[derive(Debug)]
pub(super) struct World {
    pub(super) stage: Arc<SharedContext>,
    pub(super) plan: Plan,
    pub(super) store: MemoryStore,
    /// The time in the greatest token that the store has forgotten, whose holder may be told of it yet.
    forgotten: AtomicU64,
}

impl World {
    pub(super) fn new(plan: Plan, trace: bool, tally: Arc<Tally>) -> Arc<Self> {
        let clock = SimClock::true_time();
        let store = MemoryStore::with_clock(Arc::new(clock.clone()));
        let longest_lease = plan.longest_lease() + LONGEST_GRACE;
        let check = Checker::new(Arc::new(store.clone()), clock.clone(), longest_lease, trace);
        check.calls_are_late_by(if plan.calls_outlive_drop {
            plan.faults.delay * 3
        } else {
            Duration::ZERO
        });
        let names = usize::try_from(plan.names).unwrap_or(1);
        let stage = SharedContext::new(plan.habits(), names, clock, check, tally);
        Arc::new(Self { stage, plan, store, forgotten: AtomicU64::new(0) })
    }

    /// Whether the store may lose its data and go on at `wall`, without breaking the assumption of
    /// promise S2.
    pub(super) fn may_lose_data(&self, wall: u64) -> bool {
        self.greatest_token_time() < wall
    }

    /// The store loses its data now.
    pub(super) fn lose_data(&self) {
        self.forgotten.store(self.greatest_token_time(), Ordering::Relaxed);
        self.stage.check.lost_data();
        self.store.forget();
    }

    fn greatest_token_time(&self) -> u64 {
        self.store.last_token_time().max(self.forgotten.load(Ordering::Relaxed))
    }

    /// The names that are latches.
    pub(super) fn latches(&self) -> &[LockName] {
        if matches!(self.plan.locks, LockKind::Latch { .. }) { &self.stage.names } else { &[] }
    }
}

#[async_trait]
impl SimulationHooks for World {
    fn stage(&self) -> &Arc<SharedContext> {
        &self.stage
    }

    async fn denied(&self, name: &LockName, label: &str, _terms: &Terms, _waited: bool) {
        self.stage.check.denied(name, label, !self.plan.calls_outlive_drop).await;
    }
}
