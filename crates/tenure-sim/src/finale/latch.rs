//! Latches when all is calm.

use std::{sync::Arc, time::Duration};

use tenure_core::{LockName, Store, proto::look};
use tokio::task::JoinHandle;

use crate::{
    client::{Process, ProcessContext},
    process,
    tasks::latch::{LatchTerms, arrive, observe_latch, wait},
    world::World,
};
use tenure_testkit::Random;

/// When all is calm everybody arrives, again and again, until nobody waits any more.
pub(crate) fn all_arrive(
    world: &Arc<World>,
    processes: &mut Vec<Process>,
    random: &mut Random,
) -> Option<JoinHandle<()>> {
    let terms = LatchTerms { keep: LONG, ..LatchTerms::of(&world.stage)? };
    let context = process::add(processes, world, random);
    Some(tokio::spawn(async move {
        loop {
            for name in &context.stage.names {
                for worker in 0..terms.count {
                    arrive(&context, name, terms, &format!("worker-{worker}"), None).await;
                }
            }
            context.sleep(look::LONGEST / 2).await;
        }
    }))
}

/// When nobody is on the way any more: all are there, the latch is reset, and counts once more.
pub(crate) async fn play(world: &Arc<World>, processes: &mut Vec<Process>, random: &mut Random) {
    let Some(terms) = LatchTerms::of(&world.stage) else { return };
    tokio::time::sleep(world.plan.faults.delay * 3 + HALF_AN_ARRIVAL + MARGIN).await;
    let mut start = || process::add(processes, world, random);
    let (one, other) = (start(), start());
    for name in &world.stage.names {
        let left = world.store.inspect(name).await.unwrap_or_default();
        world.stage.check.only_arrivals_left(name, &left);
        observe_latch(&one, name, terms, true).await;
        reset(world, &one, name, terms).await;
    }
    let Some(name) = world.stage.names.first() else { return };
    let terms = LatchTerms { keep: LONG, ..terms };
    let waiter = tokio::spawn({
        let (one, name) = (one.clone(), name.clone());
        async move { wait(&one, &name, terms, None, None).await }
    });
    let first = random.below(u64::from(terms.count));
    for worker in 0..u64::from(terms.count) {
        let who = format!("worker-{}", (first + worker) % u64::from(terms.count));
        for context in [&one, &other] {
            arrive(context, name, terms, &who, None).await;
        }
        wait(&other, name, terms, Some(MARGIN), None).await;
    }
    if tokio::time::timeout(look::LONGEST + MARGIN, waiter).await.is_err() {
        world.stage.check.latch_stuck(name);
    }
    // Arrivals outlive those who made them, and what is seen of one that was dropped midway.
    arrive(&other, name, terms, "late comer", Some(1 + random.below(4))).await;
    observe_latch(&one, name, terms, true).await;
    for process in processes.iter().filter(|process| process.context.number == other.number) {
        process.context.crash(None);
    }
    tokio::time::sleep(HALF_AN_ARRIVAL + MARGIN).await;
    observe_latch(&one, name, terms, true).await;
    reset(world, &one, name, terms).await;
    wait(&one, name, terms, Some(MARGIN), None).await;
}

const LONG: Duration = Duration::from_secs(24 * 60 * 60);
/// How long the trace of an arrival that was dropped midway lasts.
const HALF_AN_ARRIVAL: Duration = Duration::from_secs(30);
const MARGIN: Duration = Duration::from_millis(200);

async fn reset(world: &World, context: &ProcessContext, name: &LockName, terms: LatchTerms) {
    let left = world.store.inspect(name).await.unwrap_or_default();
    world.stage.check.wiped(name, &left);
    if let Err(error) = terms.latch(context, name).reset().await {
        world.stage.check.latch_failed(name, &error);
    }
}
