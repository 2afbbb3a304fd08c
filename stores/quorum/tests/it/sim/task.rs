//! One task of a process: it acquires, holds and lets go, in ways of its seed's choosing.

use std::{sync::Arc, time::Duration};

use tenure_core::{AcquireError, Guard, proto::queue::Mode};
use tenure_sim::client::{
    AskIdentity, LONGEST_GRACE, LockKind, ProcessContext, Terms, acquire, hold_both, take_up,
};
use tenure_testkit::Random;

use super::{plan::Plan, world::World};

/// All rounds of a task; none begins when nothing goes wrong any more.
pub(super) async fn work(
    context: Arc<ProcessContext>,
    world: Arc<World>,
    index: u64,
    mut random: Random,
) {
    let (plan, random) = (&world.plan, &mut random);
    for _ in 0..plan.rounds {
        let longest = Duration::from_millis(if plan.quick { 4 } else { 100 });
        let Some(name) = context.next_round(longest, random).await else { return };
        if plan.detaches > 0 && take_up(&context, random).await {
            continue;
        }
        let terms = draw(plan, random);
        let asked = AskIdentity::new(&context, index, &name);
        let asking = ask(&context, &asked, &terms);
        let guards = acquire(&context, &asked, &terms, asking, random).await;
        hold_both(&context, guards.unwrap_or_default(), &terms, random).await;
    }
}

/// What a task asks for in one round. It is not drawn in the order that the simulation of one store
/// has: that would give each seed another meaning.
fn draw(plan: &Plan, random: &mut Random) -> Terms {
    let millis =
        |random: &mut Random, choices: &[u64]| Duration::from_millis(*random.choose(choices));
    let reads = plan.locks == LockKind::ReadWrite && random.happens(600);
    Terms {
        mode: if reads { Mode::Shared } else { Mode::Exclusive },
        ttl: millis(random, plan.leases()),
        grace: if random.happens(200) { LONGEST_GRACE } else { Duration::ZERO },
        max_hold: random.happens(150).then(|| millis(random, &[20, 150, 700])),
        hold_at_least: random.happens(80).then(|| millis(random, &[15, 100])),
        wait: random.happens(600).then(|| millis(random, &[0, 30, 400, 1_500])),
        fair: false,
        tries: random.happens(300),
        together: plan.locks == LockKind::Mutex && plan.names > 1 && random.happens(200),
    }
}

async fn ask(
    context: &ProcessContext,
    AskIdentity { name, label, .. }: &AskIdentity,
    terms: &Terms,
) -> Result<Option<Vec<Guard>>, AcquireError> {
    let (tenure, stage) = (&context.tenure, &context.stage);
    if terms.together {
        return terms.ask_all(tenure, &stage.names, label).await;
    }
    let guard = terms.ask(tenure, stage.habits.locks, name, label).await?;
    Ok(guard.map(|guard| vec![guard]))
}
