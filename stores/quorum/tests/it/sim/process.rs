//! One process: a quorum over its own connections, an engine, and tasks.

use std::{sync::Arc, time::Duration};

use tenure_core::{Clock, Guard, SeededEntropy, Store, Tenure};
use tenure_quorum::{QuorumOptions, QuorumStore};
use tenure_testkit::{
    Random,
    fault::{Faults, Unreliable},
    sim::SimClock,
};
use tokio::task::JoinHandle;

use super::{plan::LONGEST, world::World};

pub(super) struct Process {
    lines: Vec<Unreliable>,
    tasks: Vec<JoinHandle<()>>,
}

impl Process {
    pub(super) fn start(number: u64, world: &Arc<World>, random: &mut Random) -> Self {
        let plan = &world.plan;
        let rate = *random.choose(&[-plan.rate, 0, plan.rate]);
        let clock = world.clock.beside(1_000_000 * random.below(1_000_000), rate);
        let connect =
            if plan.late_calls { Unreliable::new } else { Unreliable::without_late_calls };
        let lines: Vec<_> = world
            .members
            .iter()
            .map(|member| {
                let (clock, tally) = (Arc::new(world.clock.clone()), world.tally.clone());
                connect(Arc::new(member.clone()), clock, plan.faults, random.split(), tally)
            })
            .collect();
        let members = lines.iter().map(|line| Arc::new(line.clone()) as Arc<dyn Store>).collect();
        let options = QuorumOptions::new()
            .longest_lease(LONGEST)
            .and_then(|options| options.member_limit(Duration::from_millis(60)))
            .unwrap()
            .clock(Arc::new(clock.clone()))
            .entropy(Arc::new(SeededEntropy::new(random.next())));
        let store = QuorumStore::new(members, options).unwrap();
        let (tenure, engine) = Tenure::builder(Arc::new(store))
            .clock(Arc::new(clock.clone()))
            .entropy(Arc::new(SeededEntropy::new(random.next())))
            .build_inline();
        tokio::spawn(engine);
        let tasks = (0..plan.tasks)
            .map(|task| {
                let (world, clock, tenure) = (world.clone(), clock.clone(), tenure.clone());
                let label = format!("{number}:{task}");
                tokio::spawn(work(world, clock, tenure, label, random.split()))
            })
            .collect();
        Self { lines, tasks }
    }

    pub(super) fn set_faults(&self, line: usize, faults: Faults) {
        if let Some(line) = self.lines.get(line) {
            line.set_faults(faults);
        }
    }

    pub(super) fn calm_down(&self, faults: Faults) {
        for line in &self.lines {
            line.set_faults(faults);
        }
    }

    pub(super) async fn ended(self) {
        for task in self.tasks {
            task.await.unwrap();
        }
    }
}

async fn work(
    world: Arc<World>,
    clock: SimClock,
    tenure: Tenure,
    label: String,
    mut random: Random,
) {
    for round in 0..world.plan.rounds {
        let pause = random.length(Duration::ZERO, Duration::from_millis(100));
        clock.sleep_until(clock.now().saturating_add(pause)).await;
        if world.calm() {
            return;
        }
        let label = format!("{label}:{round}");
        let before = world.check.greatest();
        if let Some(guard) = acquire(&world, &tenure, &label, &mut random).await {
            let guard = Arc::new(guard);
            world.check.begins(&guard, before);
            hold(&world, &clock, &guard, &mut random).await;
            let guard = Arc::try_unwrap(guard).unwrap();
            match random.below(4) {
                0 => drop(guard),
                1 => drop(guard.leave_to_expire()),
                _ => drop(guard.release().await),
            }
        }
    }
}

async fn acquire(
    world: &World,
    tenure: &Tenure,
    label: &str,
    random: &mut Random,
) -> Option<Guard> {
    let ttl = Duration::from_millis(*random.choose(&[80, 250, 800]));
    let mutex = tenure.mutex(world.name.as_str()).ttl(ttl).label(label);
    let give_up = random.happens(world.plan.drops).then(|| random.below(60));
    let tries = random.happens(400);
    let asking = async {
        if tries {
            return mutex.try_lock().await;
        }
        mutex.lock().wait(Duration::from_millis(700)).await.map(Some)
    };
    let give_up = Duration::from_millis(give_up.unwrap_or(100_000));
    let outcome = tokio::time::timeout(give_up, asking).await.ok()?.ok()?;
    if outcome.is_none() && world.plan.quiet() {
        given_back(world, label).await;
    }
    outcome
}

/// Where no call goes wrong, whoever is told that the name is taken has left nothing anywhere.
async fn given_back(world: &World, label: &str) {
    for member in &world.members {
        let seen = member.inspect(&world.name).await.unwrap();
        if seen.holders.iter().any(|holder| holder.label == label) {
            world.check.broken(format!("S5: {label} was told that it is taken, but holds a part"));
        }
    }
}

/// Works for a while, and writes as long as the hold is valid.
async fn hold(world: &World, clock: &SimClock, guard: &Guard, random: &mut Random) {
    let most = Duration::from_millis(1_500) / (1 << random.below(7));
    let until = clock.now().saturating_add(random.length(Duration::ZERO, most));
    loop {
        world.check.look();
        if let Ok(token) = guard.check() {
            world.check.write(token);
        }
        let now = clock.now();
        if now >= until || world.calm() {
            return;
        }
        let step = random.length(Duration::from_millis(1), most / 4 + Duration::from_millis(2));
        clock.sleep_until(until.min(now.saturating_add(step))).await;
    }
}
