//! One simulated process: a `Tenure` of its own, its tasks, its clock and its connections.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use tenure_core::{SeededEntropy, Store, Tenure};
use tokio::task::JoinHandle;

use super::{ProcessContext, SimulationHooks};
use crate::{ProcessControl, SimClock};
use tenure_testkit::{
    Random,
    fault::{Faults, Unreliable},
};

/// A process from outside.
#[derive(Debug)]
pub struct Process {
    /// What its tasks share.
    pub context: Arc<ProcessContext>,
    /// Those that go on for so many rounds, until somebody waits for their ends.
    pub tasks: Vec<JoinHandle<()>>,
}

impl Process {
    /// A process that has no tasks yet. Its `store` is what it makes of `lines`.
    #[must_use]
    pub fn new(
        number: u64,
        ground: Arc<dyn SimulationHooks>,
        clock: SimClock,
        lines: Vec<Unreliable>,
        store: Arc<dyn Store>,
        random: &mut Random,
    ) -> Self {
        let (tenure, engine) = Tenure::builder(store)
            .clock(Arc::new(clock.clone()))
            .entropy(Arc::new(SeededEntropy::new(random.next())))
            .build_inline();
        let stage = ground.stage().clone();
        let resumed = AtomicU64::new(stage.now().as_nanos());
        let power = ProcessControl::default();
        let context = Arc::new(ProcessContext {
            number,
            stage,
            ground,
            tenure,
            clock,
            lines,
            power,
            resumed,
        });
        context.spawn(engine);
        Self { context, tasks: Vec::new() }
    }

    /// It stands still until it is resumed, and so does what its store does in the background.
    pub fn pause(&self) {
        self.context.note("stands still");
        self.stand_still(true);
        self.context.power.pause();
    }

    /// It goes on.
    pub fn resume(&self) {
        self.context.note("goes on");
        self.stand_still(false);
        self.context.resumed.store(self.context.stage.now().as_nanos(), Ordering::Relaxed);
        self.context.power.resume();
    }

    fn stand_still(&self, still: bool) {
        for line in &self.context.lines {
            line.stand_still(still);
        }
    }

    /// Whether it has ended without a word.
    #[must_use]
    pub fn has_crashed(&self) -> bool {
        self.context.power.is_ended()
    }

    /// From now on these faults happen on all of its connections.
    pub fn set_faults(&self, faults: Faults) {
        for line in &self.context.lines {
            line.set_faults(faults);
        }
    }
}
