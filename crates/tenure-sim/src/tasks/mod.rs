//! One task of a process: it acquires, holds and lets go, in ways of its seed's choosing.

use std::{sync::Arc, time::Duration};

use tenure_core::proto::queue::Mode;

pub(super) mod election;
pub(super) mod latch;
mod reentrant;
mod several;
pub(super) mod slots;

use super::{
    Plan,
    client::{AskIdentity, LONGEST_GRACE, LockKind, ProcessContext, Terms, acquire, hold, take_up},
    world::World,
};
use tenure_testkit::Random;

/// All rounds of a task; none begins when nothing goes wrong any more.
pub(super) async fn work(
    context: Arc<ProcessContext>,
    world: Arc<World>,
    index: u64,
    mut random: Random,
) {
    let plan = &world.plan;
    let random = &mut random;
    for _ in 0..plan.rounds {
        let longest = match plan.locks {
            LockKind::Slots(habits) => habits.period / 2,
            _ => Duration::from_millis(if plan.quick { 4 } else { 200 }),
        };
        let Some(name) = context.next_round(longest, random).await else { return };
        if plan.detaches > 0 && take_up(&context, random).await {
            continue;
        }
        let terms = draw(plan, random);
        match plan.locks {
            LockKind::Election => election::round(&context, index, &name, &terms, random).await,
            LockKind::Reentrant => reentrant::round(&context, index, &name, &terms, random).await,
            LockKind::Latch { .. } => latch::round(&context, &name, random).await,
            LockKind::Slots(_) => {
                slots::round(&context, &world, index, &name, &terms, random).await;
            }
            _ if terms.together => several::round(&context, index, &terms, random).await,
            LockKind::Mutex | LockKind::ReadWrite | LockKind::Semaphore { .. } => {
                let asked = AskIdentity::new(&context, index, &name);
                let asking = terms.ask(&context.tenure, plan.locks, &name, &asked.label);
                if let Some(guard) = acquire(&context, &asked, &terms, asking, random).await {
                    hold(&context, guard, &terms, random).await;
                }
            }
        }
    }
}

/// What a task asks for in one round.
fn draw(plan: &Plan, random: &mut Random) -> Terms {
    let millis =
        |random: &mut Random, choices: &[u64]| Duration::from_millis(*random.choose(choices));
    let ttl = millis(random, plan.leases.lengths());
    let mode = match plan.locks {
        LockKind::Mutex | LockKind::Reentrant | LockKind::Election | LockKind::Slots(_) => {
            Mode::Exclusive
        }
        LockKind::ReadWrite if random.happens(600) => Mode::Shared,
        LockKind::ReadWrite => Mode::Exclusive,
        LockKind::Latch { .. } => Mode::Shared,
        LockKind::Semaphore { permits } => {
            let take = 1 + u32::try_from(random.below(permits.into())).unwrap_or(0);
            Mode::Permits { take, of: permits + u32::from(random.happens(100)) }
        }
    };
    Terms {
        mode,
        ttl,
        grace: if random.happens(200) { LONGEST_GRACE } else { Duration::ZERO },
        max_hold: random.happens(150).then(|| millis(random, &[20, 150, 700, 3_000])),
        wait: random.happens(400).then(|| millis(random, &[0, 30, 400, 1_500])),
        hold_at_least: random.happens(80).then(|| millis(random, &[15, 100])),
        fair: random.happens(if plan.quick { 100 } else { 300 }),
        tries: random.happens(150),
        together: plan.locks == LockKind::Mutex && plan.names > 1 && random.happens(150),
    }
}
