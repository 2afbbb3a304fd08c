//! One process: a quorum over its own connections, an engine, and tasks.

use std::{sync::Arc, time::Duration};

use tenure_core::{SeededEntropy, Store};
use tenure_quorum::{QuorumOptions, QuorumStore};
use tenure_sim::{SimClock, client::Process};
use tenure_testkit::{
    Random,
    fault::{Kind, Unreliable},
};

use super::{plan::Plan, task, world::World};

/// How a process with this clock asks the members.
pub(super) fn options(plan: &Plan, clock: &SimClock, random: &mut Random) -> QuorumOptions {
    let options = QuorumOptions::new().longest_lease(plan.longest()).unwrap();
    let options = options.member_limit(Duration::from_millis(60)).unwrap();
    let entropy = Arc::new(SeededEntropy::new(random.next()));
    options.clock(Arc::new(clock.clone())).entropy(entropy)
}

/// Starts a process, with all of its tasks.
pub(super) fn start(number: u64, world: &Arc<World>, random: &mut Random) -> Process {
    let (plan, stage) = (&world.plan, &world.stage);
    let rate = *random.choose(&[-plan.rate, 0, plan.rate]);
    if rate != 0 {
        stage.tally.count(Kind::ClockRate);
    }
    let clock = stage.clock.beside(1_000_000 * random.below(1_000_000), rate);
    let connect =
        if plan.calls_outlive_drop { Unreliable::new } else { Unreliable::without_late_calls };
    let lines: Vec<_> = world
        .members
        .stores
        .iter()
        .enumerate()
        .map(|(member, store)| {
            let (clock, tally) = (Arc::new(stage.clock.clone()), stage.tally.clone());
            let faults = world.faults(member);
            connect(Arc::new(store.clone()), clock, faults, random.split(), tally)
        })
        .collect();
    let members = lines.iter().map(|line| Arc::new(line.clone()) as Arc<dyn Store>).collect();
    let store = QuorumStore::new(members, options(plan, &clock, random)).unwrap();
    let mut process = Process::new(number, world.clone(), clock, lines, Arc::new(store), random);
    let context = &process.context;
    process.tasks = (0..plan.tasks)
        .map(|index| {
            context.spawn(task::work(context.clone(), world.clone(), index, random.split()))
        })
        .collect();
    process
}
