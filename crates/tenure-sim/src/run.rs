//! One run, from its seed to its verdict.

use std::{sync::Arc, time::Duration};

use tenure_core::{Clock, Store};
use tokio::runtime::Builder;

use super::{
    Plan,
    chaos::rage,
    client::{LockKind, Process},
    finale, process,
    trouble::FailureInjector,
    world::World,
};
use crate::check::{Counts, Violation};
use tenure_testkit::{Random, fault::Tally};

/// What a run came to.
#[derive(Debug)]
pub struct RunReport {
    /// The seed.
    pub seed: u64,
    /// The first promise that was broken, if any was.
    pub violation: Option<Violation>,
    /// A number made of all that happened: the same seed gives the same.
    pub fingerprint: u64,
    /// How much happened.
    pub counts: Counts,
    /// What happened, line by line, if that was asked for.
    pub trace: Vec<String>,
}

/// Runs one seed. Faults that happen are counted in `tally`.
#[must_use]
pub fn simulate(seed: u64, tally: &Arc<Tally>) -> RunReport {
    run(seed, tally, false)
}

/// Runs one seed and keeps what happened.
#[must_use]
pub fn replay(seed: u64) -> RunReport {
    run(seed, &Arc::default(), true)
}

#[allow(clippy::panic, reason = "without a runtime there is no simulation")]
fn run(seed: u64, tally: &Arc<Tally>, trace: bool) -> RunReport {
    match Builder::new_current_thread().enable_time().start_paused(true).build() {
        Ok(runtime) => runtime.block_on(simulate_seed(seed, tally.clone(), trace)),
        Err(error) => panic!("no runtime for the simulation: {error:#}"),
    }
}

async fn simulate_seed(seed: u64, tally: Arc<Tally>, trace: bool) -> RunReport {
    let mut random = Random::new(seed);
    let world = World::new(Plan::of(seed), trace, tally);
    let mut processes: Vec<Process> = (0..world.plan.processes)
        .map(|index| process::start(index + 1, &world, &mut random))
        .collect();
    tokio::select! {
        biased;
        () = world.stage.check.failed() => {}
        () = course(&world, &mut processes, &mut random) => {}
    }
    let (violation, fingerprint, counts, trace) = world.stage.check.verdict();
    RunReport { seed, violation, fingerprint, counts, trace }
}

const MARGIN: Duration = Duration::from_millis(200);

/// Trouble, then calm; in the end nobody waits any more and nothing is left behind.
async fn course(world: &Arc<World>, processes: &mut Vec<Process>, random: &mut Random) {
    let (stage, plan) = (&world.stage, &world.plan);
    let mut troubles = FailureInjector(world.clone());
    rage(stage, &mut troubles, processes, (plan.chaos, plan.calm()), random).await;
    let calm_at = stage.now();
    let bound = calm_at.saturating_add(plan.bound());
    let arrivals = finale::latch::all_arrive(world, processes, random);
    for process in processes.iter_mut() {
        for task in std::mem::take(&mut process.tasks) {
            let rest = bound.since(stage.now()).max(Duration::from_millis(1));
            if tokio::time::timeout(rest, task).await.is_err() {
                stage.check.stuck(process.context.number, plan.bound());
                return;
            }
        }
    }
    if let Some(arrivals) = arrivals {
        arrivals.abort();
        finale::latch::play(world, processes, random).await;
    }
    if plan.is_prompt() {
        tokio::time::sleep(MARGIN).await;
        for name in &stage.names {
            let left = world.store.inspect(name).await.unwrap_or_default();
            stage.check.nobody_waits(name, &left);
        }
    }
    stage.clock.sleep_until(bound).await;
    for name in &stage.names {
        let left = world.store.inspect(name).await.unwrap_or_default();
        stage.check.nothing_left(name, &left);
    }
    if plan.locks == LockKind::Election {
        finale::election::play(world, processes, random).await;
    }
    finale::slots::play(world, processes, random).await;
    for process in processes.iter().filter(|process| !process.has_crashed()) {
        if let Err(error) = process.context.tenure.shutdown(plan.longest_lease()).await {
            stage.check.not_shut_down(process.context.number, &error);
        }
    }
}
