//! One process: a quorum over its own connections, an engine, and tasks.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tenure_core::{Clock, SeededEntropy, Store, Tenure, Timestamp};
use tenure_quorum::{QuorumOptions, QuorumStore};
use tenure_testkit::{
    Random,
    fault::{Faults, Kind, Unreliable},
    proto::quorum::majority,
    sim::{Pausable, Power, SimClock},
};
use tokio::task::JoinHandle;

use super::{plan::Plan, seen::Sight, task, world::World};

/// What the tasks of a process share.
#[derive(Debug)]
pub(super) struct Post {
    pub(super) number: u64,
    pub(super) world: Arc<World>,
    pub(super) tenure: Tenure,
    pub(super) clock: SimClock,
    lines: Vec<Unreliable>,
    power: Power,
    resumed: AtomicU64,
}

/// A process from outside.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) post: Arc<Post>,
    pub(super) tasks: Vec<JoinHandle<()>>,
}

impl Post {
    /// When something last went wrong for this process, in true time.
    pub(super) fn last_trouble(&self) -> Timestamp {
        if self.world.plan.wipes {
            // A hold that only a majority has is lost with the memory of one of them.
            return Timestamp::NEVER;
        }
        let lines = self.lines.iter().map(Unreliable::last_trouble).max();
        self.resumed().max(lines.unwrap_or_default())
    }

    /// When it was last resumed, in true time.
    pub(super) fn resumed(&self) -> Timestamp {
        Timestamp::from_nanos(self.resumed.load(Ordering::Relaxed))
    }

    /// Returns after `length` on the process's clock.
    pub(super) async fn sleep(&self, length: Duration) {
        self.clock.sleep_until(self.clock.now().saturating_add(length)).await;
    }

    pub(super) fn note(&self, what: &str) {
        self.world.check.note(self.number, what);
    }

    /// Ends without a word, and leaves nothing behind that lasts longer than a lease.
    pub(super) fn crash(self: &Arc<Self>) {
        self.note("ends without a word");
        self.world.tally.count(Kind::Crashed);
        for line in &self.lines {
            line.cut();
        }
        self.power.end();
        let world = self.world.clone();
        let (who, prefix) =
            (format!("process {}", self.number), format!("process {},", self.number));
        tokio::spawn(async move {
            autopsy(&world, &prefix).await;
            tokio::time::sleep(world.plan.end_of_the_dead()).await;
            for name in &world.names {
                let parts = world.members.parts(name, &prefix).await;
                let left: Vec<_> = parts.into_values().flatten().collect();
                world.check.left_behind(&who, name, &left);
            }
        });
    }
}

/// What a process was at when it ended.
async fn autopsy(world: &World, prefix: &str) {
    let needed = majority(world.plan.members);
    for name in &world.names {
        for parts in world.members.parts(name, prefix).await.into_values() {
            let most = parts.iter().map(|part| {
                parts.iter().filter(|other| other.token == part.token && !other.lingering).count()
            });
            let sight = match most.max() {
                Some(most) if most >= needed => Sight::EndedHolding,
                Some(_) if parts.len() >= needed => Sight::EndedBetweenRounds,
                _ => Sight::EndedWithMinority,
            };
            world.seen.count(sight);
        }
    }
}

/// How a process with this clock asks the members.
pub(super) fn options(plan: &Plan, clock: &SimClock, random: &mut Random) -> QuorumOptions {
    let options = QuorumOptions::new().longest_lease(plan.longest()).unwrap();
    let options = options.member_limit(Duration::from_millis(60)).unwrap();
    let entropy = Arc::new(SeededEntropy::new(random.next()));
    options.clock(Arc::new(clock.clone())).entropy(entropy)
}

impl Process {
    pub(super) fn start(number: u64, world: &Arc<World>, random: &mut Random) -> Self {
        let plan = &world.plan;
        let rate = *random.choose(&[-plan.rate, 0, plan.rate]);
        if rate != 0 {
            world.tally.count(Kind::ClockRate);
        }
        let clock = world.clock.beside(1_000_000 * random.below(1_000_000), rate);
        let connect =
            if plan.late_calls { Unreliable::new } else { Unreliable::without_late_calls };
        let lines: Vec<_> = world
            .members
            .stores
            .iter()
            .enumerate()
            .map(|(member, store)| {
                let (clock, tally) = (Arc::new(world.clock.clone()), world.tally.clone());
                let faults = world.faults(member);
                connect(Arc::new(store.clone()), clock, faults, random.split(), tally)
            })
            .collect();
        let members = lines.iter().map(|line| Arc::new(line.clone()) as Arc<dyn Store>).collect();
        let store = QuorumStore::new(members, options(plan, &clock, random)).unwrap();
        let (tenure, engine) = Tenure::builder(Arc::new(store))
            .clock(Arc::new(clock.clone()))
            .entropy(Arc::new(SeededEntropy::new(random.next())))
            .build_inline();
        let (world, power) = (world.clone(), Power::default());
        let resumed = AtomicU64::new(world.now().as_nanos());
        let post = Arc::new(Post { number, world, tenure, clock, lines, power, resumed });
        tokio::spawn(Pausable::new(&post.power, engine));
        let tasks = (0..post.world.plan.tasks)
            .map(|index| {
                let work = task::work(post.clone(), index, random.split());
                tokio::spawn(Pausable::new(&post.power, work))
            })
            .collect();
        Self { post, tasks }
    }

    pub(super) fn pause(&self) {
        self.post.note("stands still");
        self.stand_still(true);
        self.post.power.pause();
    }

    pub(super) fn resume(&self) {
        self.post.note("goes on");
        self.stand_still(false);
        self.post.resumed.store(self.post.world.now().as_nanos(), Ordering::Relaxed);
        self.post.power.resume();
    }

    /// What a quorum runs in the background stands still by its connections.
    fn stand_still(&self, still: bool) {
        for line in &self.post.lines {
            line.stand_still(still);
        }
    }

    pub(super) fn has_crashed(&self) -> bool {
        self.post.power.is_ended()
    }

    pub(super) fn set_faults(&self, member: usize, faults: Faults) {
        self.post.lines[member].set_faults(faults);
    }
}
