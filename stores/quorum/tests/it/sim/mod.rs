//! A simulation of quorums: several processes with real engines, guards and hand-over, over members
//! in memory, each with a clock of its own, behind networks that lose, repeat and delay. Members
//! lose their memory, processes stand still and end. The same seed gives the same run.

mod ledger;
mod members;
mod plan;
mod process;
mod seen;
mod task;
mod trouble;
mod world;

use std::{ops::Range, sync::Arc, time::Duration};

use tenure_core::{
    Clock, Store,
    proto::{quorum::mark, rule::Rule},
};
use tenure_sim::{RunReport, SweepReport, chaos::rage, sweep_of};
use tenure_testkit::{Random, fault::Tally};
use tokio::runtime::Builder;

pub(crate) use self::seen::{Seen, Sight};
use self::{plan::Plan, trouble::Troubles, world::World};

/// Runs one seed; with `trace`, keeps what happened.
pub(crate) fn simulate(seed: u64, tally: &Arc<Tally>, seen: &Arc<Seen>, trace: bool) -> RunReport {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let mut random = Random::new(seed);
        let world = World::new(Plan::of(seed), trace, (tally, seen), &mut random);
        if trace {
            world.stage.check.note(0, &format!("{:?}", world.plan));
        }
        tokio::select! {
            biased;
            () = world.stage.check.failed() => {}
            () = course(&world, &mut random) => {}
        }
        seen.add(Sight::Rejoined, world.members.rejoined());
        let (violation, fingerprint, counts, trace) = world.stage.check.verdict();
        RunReport { seed, violation, fingerprint, counts, trace }
    })
}

/// Runs seeds until one fails.
pub(crate) fn sweep(seeds: Range<u64>, broken: Option<Rule>) -> (SweepReport, Arc<Seen>) {
    let seen = Arc::default();
    let simulate = |seed, tally: &Arc<Tally>| simulate(seed, tally, &seen, false);
    (sweep_of(simulate, seeds, broken), seen)
}

/// Trouble, then calm; in the end nobody waits and nothing is left behind.
async fn course(world: &Arc<World>, random: &mut Random) {
    let (stage, plan) = (&world.stage, &world.plan);
    if plan.founded {
        world.found(random).await;
    }
    let mut processes: Vec<_> =
        (0..plan.processes).map(|index| process::start(index + 1, world, random)).collect();
    let mut troubles = Troubles::new(world);
    rage(stage, &mut troubles, &mut processes, (plan.chaos, plan.calm()), random).await;
    let bound = stage.now().saturating_add(plan.bound());
    for process in &mut processes {
        for task in std::mem::take(&mut process.tasks) {
            let rest = bound.since(stage.now()).max(Duration::from_millis(1));
            match tokio::time::timeout(rest, task).await {
                Ok(ended) => ended.unwrap(),
                Err(_) => return stage.check.stuck(process.context.number, plan.bound()),
            }
        }
    }
    stage.clock.sleep_until(bound).await;
    for store in &world.members.stores {
        let left = store.list("", 10).await.unwrap();
        let ours = [mark::NAME, mark::NOTE];
        for (name, left) in left.names.iter().filter(|(name, _)| !ours.contains(&name.as_str())) {
            stage.check.nothing_left(name, left);
        }
    }
    for process in processes.iter().filter(|process| !process.has_crashed()) {
        if let Err(error) = process.context.tenure.shutdown(plan.longest()).await {
            stage.check.not_shut_down(process.context.number, &error);
        }
    }
}
