//! One task of a process: it acquires, holds and lets go, in ways of its seed's choosing.

use std::{sync::Arc, time::Duration};

use tenure_core::{AcquireError, Guard, LockName, Mutex};

use super::{hold, limited::Limited, plan::LONGEST_GRACE, process::Post};
use crate::{Random, fault::Kind};

/// What a task asks for in one round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub(super) ttl: Duration,
    pub(super) grace: Duration,
    pub(super) max_hold: Option<Duration>,
    wait: Option<Duration>,
    pub(super) hold_at_least: Option<Duration>,
    fair: bool,
    tries: bool,
}

impl Terms {
    fn draw(post: &Post, random: &mut Random) -> Self {
        let plan = &post.world.plan;
        let millis =
            |random: &mut Random, choices: &[u64]| Duration::from_millis(*random.choose(choices));
        let ttl = millis(random, plan.leases.lengths());
        Self {
            ttl,
            grace: if random.happens(200) { LONGEST_GRACE } else { Duration::ZERO },
            max_hold: random.happens(150).then(|| millis(random, &[20, 150, 700, 3_000])),
            wait: random.happens(400).then(|| millis(random, &[0, 30, 400, 1_500])),
            hold_at_least: random.happens(80).then(|| millis(random, &[15, 100])),
            fair: random.happens(if plan.quick { 100 } else { 300 }),
            tries: random.happens(150),
        }
    }

    fn mutex(&self, post: &Post, name: &LockName, label: &str) -> Mutex {
        let mut mutex = post.tenure.mutex(name.as_str()).ttl(self.ttl).label(label);
        if !self.grace.is_zero() {
            mutex = mutex.grace(self.grace);
        }
        if let Some(max_hold) = self.max_hold {
            mutex = mutex.max_hold(max_hold);
        }
        if let Some(wait) = self.wait {
            mutex = mutex.wait(wait);
        }
        if let Some(length) = self.hold_at_least {
            mutex = mutex.hold_at_least(length);
        }
        if self.fair { mutex.fair() } else { mutex }
    }
}

/// All rounds of a task; none begins when nothing goes wrong any more.
pub(super) async fn work(post: Arc<Post>, index: u64, mut random: Random) {
    let world = post.world.clone();
    for _ in 0..world.plan.rounds {
        let most = if world.plan.quick { 4 } else { 200 };
        post.sleep(random.length(Duration::ZERO, Duration::from_millis(most))).await;
        if world.calm() {
            return;
        }
        let name = random.choose(&world.names).clone();
        let terms = Terms::draw(&post, &mut random);
        if let Some(guard) = acquire(&post, index, &name, &terms, &mut random).await {
            hold::hold(&post, guard, &terms, &mut random).await;
        }
    }
}

async fn acquire(
    post: &Post,
    index: u64,
    name: &LockName,
    terms: &Terms,
    random: &mut Random,
) -> Option<Guard> {
    let world = &post.world;
    // The label says whose it is, for who looks at what the store keeps.
    let label = format!("process {}, ask {}", post.number, world.next_ask());
    let mutex = terms.mutex(post, name, &label);
    let asking =
        async { if terms.tries { mutex.try_lock().await } else { mutex.lock().await.map(Some) } };
    let polls = random.happens(world.plan.drops).then(|| random.below(10));
    let note = |what: &str| world.check.note(post.number, &format!("task {index}, {name}: {what}"));
    note("asks");
    // In a quiet run those who ask fairly and wait are served in the order of asking.
    let waits = !terms.tries && terms.wait.is_none_or(|wait| !wait.is_zero());
    let in_line = (world.plan.quiet && terms.fair && waits).then(|| world.check.asks_fairly(name));
    let outcome = Limited::new(asking, polls).await;
    if let Some(number) = in_line {
        let granted = matches!(outcome, Some(Ok(Some(_))));
        world.check.asked_fairly(name, number, granted);
    }
    match outcome {
        None => {
            world.tally.count(Kind::AcquireDropped);
            note("drops its acquire");
            None
        }
        Some(Ok(Some(guard))) => Some(guard),
        Some(Ok(None)) => {
            note("finds it taken");
            world.check.denied(name, &label, !world.plan.late_calls).await;
            None
        }
        Some(Err(error)) => {
            note(what(&error));
            world.check.refused(&error);
            if matches!(error, AcquireError::TimedOut(_)) {
                world.check.denied(name, &label, !world.plan.late_calls).await;
            }
            None
        }
    }
}

fn what(error: &AcquireError) -> &'static str {
    match error {
        AcquireError::TimedOut(_) => "waited long enough",
        AcquireError::InDoubt(_) => "is in doubt",
        AcquireError::Unreachable(_) => "cannot reach the store",
        _ => "fails",
    }
}
