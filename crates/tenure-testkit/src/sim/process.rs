//! One simulated process: a `Tenure` of its own, its tasks, its clock and its network.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tenure_core::{Clock, SeededEntropy, Tenure, Timestamp};
use tokio::task::JoinHandle;

use super::{
    SimClock, election, latch,
    pausable::{Pausable, Power},
    plan::Locks,
    task,
    world::World,
};
use crate::{
    Random,
    fault::{Faults, Kind, Unreliable},
};

/// What the tasks of a process share.
#[derive(Debug)]
pub(super) struct Post {
    pub(super) number: u64,
    pub(super) world: Arc<World>,
    pub(super) tenure: Tenure,
    pub(super) clock: SimClock,
    network: Unreliable,
    power: Power,
    resumed: AtomicU64,
}

impl Post {
    /// When something last went wrong for this process, in true time.
    pub(super) fn last_trouble(&self) -> Timestamp {
        self.resumed().max(self.network.last_trouble())
    }

    /// When it was last resumed, in true time.
    pub(super) fn resumed(&self) -> Timestamp {
        Timestamp::from_nanos(self.resumed.load(Ordering::Relaxed))
    }

    /// Runs `work` as a task of the process.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        tokio::spawn(Pausable::new(&self.power, work))
    }

    /// Returns after `length` on the process's clock.
    pub(super) async fn sleep(&self, length: Duration) {
        self.clock.sleep_until(self.clock.now().saturating_add(length)).await;
    }
}

/// A process from outside.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) post: Arc<Post>,
    pub(super) tasks: Vec<JoinHandle<()>>,
}

impl Process {
    pub(super) fn start(number: u64, world: &Arc<World>, random: &mut Random) -> Self {
        let plan = &world.plan;
        let faster = match plan.clock_rate {
            0 => 0,
            most => {
                world.tally.count(Kind::ClockRate);
                *random.choose(&[-most, -most / 2, most / 2, most])
            }
        };
        let origin = 1_000_000 * random.below(1_000_000);
        let clock = world.clock.beside(origin, faster);
        let connect =
            if plan.late_calls { Unreliable::new } else { Unreliable::without_late_calls };
        let network = connect(
            Arc::new(world.store.clone()),
            Arc::new(world.clock.clone()),
            if world.calm() { plan.calm() } else { plan.faults },
            random.split(),
            world.tally.clone(),
        );
        let (tenure, engine) = Tenure::builder(Arc::new(network.clone()))
            .clock(Arc::new(clock.clone()))
            .entropy(Arc::new(SeededEntropy::new(random.next())))
            .build_inline();
        let resumed = AtomicU64::new(world.now().as_nanos());
        let world = world.clone();
        let power = Power::default();
        let post = Arc::new(Post { number, world, tenure, clock, network, power, resumed });
        post.spawn(engine);
        let tasks = (0..post.world.plan.tasks)
            .map(|index| post.spawn(task::work(post.clone(), index, random.split())))
            .collect();
        match post.world.plan.locks {
            Locks::Election => {
                for name in &post.world.names {
                    post.spawn(election::follow(post.clone(), name.clone(), random.split()));
                }
            }
            Locks::Latch { .. } => {
                post.spawn(latch::watch(post.clone(), random.split()));
            }
            _ => {}
        }
        Self { post, tasks }
    }

    pub(super) fn pause(&self) {
        self.post.world.check.note(self.post.number, "stands still");
        self.post.power.pause();
    }

    pub(super) fn resume(&self) {
        self.post.world.check.note(self.post.number, "goes on");
        self.post.resumed.store(self.post.world.now().as_nanos(), Ordering::Relaxed);
        self.post.power.resume();
    }

    pub(super) fn crash(&self) {
        self.post.world.check.note(self.post.number, "ends without a word");
        self.post.network.cut();
        self.post.power.end();
    }

    pub(super) fn has_crashed(&self) -> bool {
        self.post.power.is_ended()
    }

    pub(super) fn set_faults(&self, faults: Faults) {
        self.post.network.set_faults(faults);
    }
}
