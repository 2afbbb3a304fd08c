//! What all processes of a run share, whatever store they are over.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use tenure_core::{Clock, LockName, Timestamp, Token};

use super::{ClientOptions, handles::DetachedHolds};
use crate::{Resources, SimClock, check::Checker};
use tenure_testkit::fault::Tally;

/// The time, the names, what they protect, and who watches.
#[derive(Debug)]
pub struct SharedContext {
    /// How the clients go about it.
    pub habits: ClientOptions,
    /// True time.
    pub clock: SimClock,
    /// Who watches.
    pub check: Arc<Checker>,
    /// What went wrong.
    pub tally: Arc<Tally>,
    /// What the clients contend for: one name or two.
    pub names: Vec<LockName>,
    /// The handles of detached holds.
    pub(super) handles: DetachedHolds,
    resources: Resources,
    asks: AtomicU64,
    /// Since when nothing goes wrong any more, in nanoseconds; zero before that.
    calm_at: AtomicU64,
}

impl SharedContext {
    /// A stage with so many names, on which things go wrong until it calms down.
    #[must_use]
    pub fn new(
        habits: ClientOptions,
        names: usize,
        clock: SimClock,
        check: Arc<Checker>,
        tally: Arc<Tally>,
    ) -> Arc<Self> {
        let all = ["a", "b"].iter().filter_map(|name| LockName::new(name).ok());
        Arc::new(Self {
            habits,
            clock,
            check,
            tally,
            names: all.take(names).collect(),
            handles: DetachedHolds::default(),
            resources: Resources::default(),
            asks: AtomicU64::new(0),
            calm_at: AtomicU64::new(0),
        })
    }

    /// True time now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The number of the next ask.
    pub fn next_ask(&self) -> u64 {
        self.asks.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Whether nothing goes wrong any more.
    #[must_use]
    pub fn calm(&self) -> bool {
        self.calm_at() > Timestamp::ZERO
    }

    /// Since when that is so.
    #[must_use]
    pub fn calm_at(&self) -> Timestamp {
        Timestamp::from_nanos(self.calm_at.load(Ordering::Relaxed))
    }

    /// From now on nothing goes wrong any more.
    pub fn calm_down(&self) {
        self.calm_at.store(self.now().as_nanos(), Ordering::Relaxed);
    }

    /// A write with `token` reaches the resources.
    pub fn write(&self, name: &LockName, token: Token) {
        let written = self.resources.write(name, token);
        self.check.wrote(name, token, written.accepted, written.harm);
    }
}
