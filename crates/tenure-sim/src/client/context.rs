//! What the tasks of a process share.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tenure_core::{Clock, LockName, Tenure, Timestamp};
use tokio::task::JoinHandle;

use super::{CrashPoint, SharedContext, SimulationHooks};
use crate::{Pausable, ProcessControl, SimClock};
use tenure_testkit::{Random, fault::Unreliable};

/// A process as its tasks see it.
#[derive(Debug)]
pub struct ProcessContext {
    /// Which process it is, from 1 on.
    pub number: u64,
    /// What it shares with the other processes.
    pub stage: Arc<SharedContext>,
    /// What is different about its store.
    pub ground: Arc<dyn SimulationHooks>,
    /// Its way to the locks.
    pub tenure: Tenure,
    /// Its clock.
    pub clock: SimClock,
    /// Its connections: to the store, or to each member of a quorum.
    pub lines: Vec<Unreliable>,
    pub(super) power: ProcessControl,
    pub(super) resumed: AtomicU64,
}

/// How a call is cut short, if it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cancellation {
    /// Whether the process ends with it.
    pub(super) ends: bool,
    /// After how many polls.
    pub(super) polls: Option<u64>,
}

impl ProcessContext {
    /// When something last went wrong for this process, in true time.
    #[must_use]
    pub fn last_trouble(&self) -> Timestamp {
        if self.stage.habits.unseen_losses {
            return Timestamp::NEVER;
        }
        let lines = self.lines.iter().map(Unreliable::last_trouble).max();
        self.resumed().max(lines.unwrap_or_default())
    }

    /// When it was last resumed, in true time.
    #[must_use]
    pub fn resumed(&self) -> Timestamp {
        Timestamp::from_nanos(self.resumed.load(Ordering::Relaxed))
    }

    /// Tells the checker what the process does.
    pub fn note(&self, what: &str) {
        self.stage.check.note(self.number, what);
    }

    /// Runs `work` as a task of the process.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        tokio::spawn(Pausable::new(&self.power, work))
    }

    /// Returns after `length` on the process's clock.
    pub async fn sleep(&self, length: Duration) {
        self.clock.sleep_until(self.clock.now().saturating_add(length)).await;
    }

    /// Waits for at most `longest`. The name to ask for then; none when nothing goes wrong any more,
    /// since no round begins after that.
    pub async fn next_round(&self, longest: Duration, random: &mut Random) -> Option<LockName> {
        self.sleep(random.length(Duration::ZERO, longest)).await;
        (!self.stage.calm()).then(|| random.choose(&self.stage.names).clone())
    }

    /// The label of the next ask. It says whose it is, for who looks at what the store keeps.
    #[must_use]
    pub fn label(&self) -> String {
        format!("process {}, ask {}", self.number, self.stage.next_ask())
    }

    /// Whether and how the next call is cut short, after less than `most` polls.
    pub(super) fn cut_short(&self, most: u64, random: &mut Random) -> Cancellation {
        let habits = &self.stage.habits;
        let ends = habits.ends > 0 && !self.stage.calm() && random.happens(habits.ends);
        let polls = (ends || random.happens(habits.drops)).then(|| random.below(most));
        Cancellation { ends, polls }
    }

    /// The process ends without a word.
    pub fn crash(&self, amid: Option<CrashPoint>) {
        self.note("ends without a word");
        for line in &self.lines {
            line.cut();
        }
        self.power.end();
        self.ground.clone().ended(self.number, amid);
    }

    /// The process ends amid a call of the task that asks.
    pub(super) async fn end_amid<T>(&self, amid: CrashPoint) -> T {
        self.crash(Some(amid));
        pending().await
    }
}
