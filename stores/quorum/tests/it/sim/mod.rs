//! A simulation of quorums: several processes with real engines, guards and hand-over, over members
//! in memory, each with a clock of its own, behind networks that lose, repeat and delay. Members
//! lose their memory. The same seed gives the same run.

mod check;
mod plan;
mod process;
mod world;

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use tenure_testkit::{
    Random,
    proto::rule::{Rule, break_rule},
};
use tokio::runtime::Builder;

use self::{plan::Plan, world::World};

/// What came of one seed.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) seed: u64,
    pub(crate) violation: Option<String>,
    pub(crate) holds: u64,
    pub(crate) wipes: u64,
}

pub(crate) fn simulate(seed: u64) -> Run {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let mut random = Random::new(seed);
        let world = World::new(Plan::of(seed), &mut random);
        tokio::select! {
            biased;
            () = world.check.failed() => {}
            () = world.course(&mut random) => {}
        }
        let (violation, holds) = world.check.verdict();
        Run { seed, violation, holds, wipes: world.wipes() }
    })
}

/// Runs seeds on two threads until one fails; what all together came to, and who failed first.
pub(crate) fn sweep(seeds: Range<u64>, broken: Option<Rule>) -> (u64, u64, Option<Run>) {
    let next = AtomicU64::new(seeds.start);
    let stop = AtomicU64::new(seeds.end);
    let part = || {
        let _broken = broken.map(break_rule);
        let (mut holds, mut wipes, mut failed) = (0, 0, None::<Run>);
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= stop.load(Ordering::Relaxed) {
                return (holds, wipes, failed);
            }
            let run = simulate(seed);
            (holds, wipes) = (holds + run.holds, wipes + run.wipes);
            if run.violation.is_some() {
                stop.fetch_min(seed, Ordering::Relaxed);
                failed.get_or_insert(run);
            }
        }
    };
    let parts: Vec<_> = std::thread::scope(|scope| {
        let threads = [scope.spawn(part), scope.spawn(part)];
        threads.map(|thread| thread.join().unwrap()).into_iter().collect()
    });
    let holds = parts.iter().map(|part| part.0).sum();
    let wipes = parts.iter().map(|part| part.1).sum();
    let failed = parts.into_iter().filter_map(|part| part.2).min_by_key(|run| run.seed);
    (holds, wipes, failed)
}
