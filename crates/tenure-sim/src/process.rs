//! The processes over one store: each has a connection to it, and tasks.

use std::sync::Arc;

use super::{
    client::{LockKind, Process, ProcessContext},
    tasks::{self, election, latch},
    world::World,
};
use tenure_testkit::{
    Random,
    fault::{Kind, Unreliable},
};

/// Starts a process, with all of its tasks.
pub(super) fn start(number: u64, world: &Arc<World>, random: &mut Random) -> Process {
    let (plan, stage) = (&world.plan, &world.stage);
    let faster = match plan.clock_rate {
        0 => 0,
        most => {
            stage.tally.count(Kind::ClockRate);
            *random.choose(&[-most, -most / 2, most / 2, most])
        }
    };
    let origin = 1_000_000 * random.below(1_000_000);
    let clock = stage.clock.beside(origin, faster);
    let connect =
        if plan.calls_outlive_drop { Unreliable::new } else { Unreliable::without_late_calls };
    let line = connect(
        Arc::new(world.store.clone()),
        Arc::new(stage.clock.clone()),
        if stage.calm() { plan.calm() } else { plan.faults },
        random.split(),
        stage.tally.clone(),
    );
    let (lines, store) = (vec![line.clone()], Arc::new(line));
    let mut process = Process::new(number, world.clone(), clock, lines, store, random);
    let context = &process.context;
    process.tasks = (0..plan.tasks)
        .map(|index| {
            context.spawn(tasks::work(context.clone(), world.clone(), index, random.split()))
        })
        .collect();
    match plan.locks {
        LockKind::Election => {
            for name in &stage.names {
                context.spawn(election::follow_leaders(
                    context.clone(),
                    name.clone(),
                    random.split(),
                ));
            }
        }
        LockKind::Latch { .. } => {
            context.spawn(latch::watch(context.clone(), random.split()));
        }
        _ => {}
    }
    process
}

/// Starts one more process.
pub(super) fn add(
    processes: &mut Vec<Process>,
    world: &Arc<World>,
    random: &mut Random,
) -> Arc<ProcessContext> {
    let process = start(processes.len() as u64 + 1, world, random);
    let context = process.context.clone();
    processes.push(process);
    context
}
