//! One hold: it works, is watched, and ends in one of many ways.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    Clock, DowngradeError, Guard, LockName, ReleaseError, Timestamp, Token, WriteGuard,
    proto::queue::Mode,
};

use super::{limited::Limited, plan::Locks, process::Post, task::Terms};
use crate::{
    Random,
    check::{Told, Watched},
    fault::Kind,
};

/// Holds `guard` for a while and lets it go.
pub(super) async fn hold(post: &Post, guard: Guard, terms: &Terms, random: &mut Random) {
    let world = &post.world;
    let guard = Arc::new(guard);
    let hold = world
        .check
        .acquired(Watched {
            process: post.number,
            name: guard.name().clone(),
            token: guard.token(),
            mode: terms.mode,
            guard: Arc::downgrade(&guard) as _,
            clock: post.clock.clone(),
            ttl: terms.ttl,
            grace: terms.grace,
            hold_at_least: terms.hold_at_least.unwrap_or_default(),
            quiet: world.plan.quiet,
        })
        .await;
    if random.happens(100) {
        run(post, &guard, hold, random).await;
    } else {
        stay(post, &guard, hold, terms, random).await;
    }
    let writes = terms.mode == Mode::Exclusive && world.plan.locks == Locks::ReadWrite;
    let mut terms = *terms;
    let mut guard = guard;
    if writes && random.happens(400) && guard.check().is_ok() {
        let Some((still, mode)) = downgrade(post, guard, hold, random).await else { return };
        (guard, terms.mode) = (still, mode);
        stay(post, &guard, hold, &terms, random).await;
    }
    let valid = world.check.ended(hold);
    if let Ok(guard) = Arc::try_unwrap(guard) {
        leave(post, guard, (hold, valid), &terms, random).await;
    }
}

/// Lets readers in. What the hold is after that, if there still is one.
async fn downgrade(
    post: &Post,
    guard: Arc<Guard>,
    hold: usize,
    random: &mut Random,
) -> Option<(Arc<Guard>, Mode)> {
    let world = &post.world;
    let note = |what: &str| world.check.note(post.number, what);
    world.check.downgrades(hold);
    note("lets readers in");
    let polls = random.happens(world.plan.drops).then(|| random.below(4));
    let writer = WriteGuard::from(Arc::into_inner(guard)?);
    let (guard, mode) = match Limited::new(Box::pin(writer.downgrade()), polls).await {
        None => {
            world.tally.count(Kind::DowngradeDropped);
            return None;
        }
        Some(Ok(guard)) => (guard, Mode::Shared),
        Some(Err(DowngradeError::InDoubt { guard, .. })) => {
            note("is in doubt about its downgrade");
            (guard, Mode::Shared)
        }
        Some(Err(DowngradeError::StillWriting { guard, .. })) => {
            note("goes on writing");
            (guard.into(), Mode::Exclusive)
        }
        Some(Err(DowngradeError::Lost(lost))) => {
            world.check.told(hold, tell(post, &lost));
            return None;
        }
    };
    let guard = Arc::new(guard);
    world.check.goes_on(hold, &guard, mode).await;
    Some((guard, mode))
}

/// Works step by step, watching for the loss of the hold and writing now and then.
async fn stay(post: &Post, guard: &Guard, hold: usize, terms: &Terms, random: &mut Random) {
    let world = &post.world;
    let longest = if world.plan.quick && random.happens(900) {
        Duration::from_millis(6)
    } else {
        Duration::from_secs(2) / (1 << random.below(8))
    };
    let mut until = post.clock.now().saturating_add(random.length(Duration::ZERO, longest));
    let lost = guard.lost();
    tokio::pin!(lost);
    let mut told = false;
    loop {
        let now = post.clock.now();
        if now >= until || (world.calm() && !told) {
            return;
        }
        let step = random.length(STEP / 2, terms.ttl.min(longest) / 3 + STEP);
        let next = until.min(now.saturating_add(step));
        tokio::select! {
            biased;
            why = &mut lost, if !told => {
                told = true;
                world.check.told(hold, tell(post, &why));
                // Some do not stop when they are told, so that a hold that comes back is seen.
                until = post.clock.now().saturating_add(random.length(Duration::ZERO, MOST));
            }
            () = post.clock.sleep_until(next) => {}
        }
        if !told {
            world.check.not_told(hold, post.resumed());
        }
        world.check.look(guard.name()).await;
        let token = guard.check().ok().filter(|_| terms.mode == Mode::Exclusive);
        write(post, guard.name(), token, terms.ttl, random);
    }
}

pub(super) const STEP: Duration = Duration::from_millis(2);
const MOST: Duration = Duration::from_secs(1);

pub(super) fn tell(post: &Post, lost: &tenure_core::Lost) -> Told {
    Told { reason: lost.reason, resumed: post.resumed(), last_trouble: post.last_trouble() }
}

/// Writes with the token, if there is one to be counted on. Some writes are long under way.
pub(super) fn write(
    post: &Post,
    name: &LockName,
    token: Option<Token>,
    ttl: Duration,
    random: &mut Random,
) {
    let (late, length) = (random.happens(300), random.length(Duration::ZERO, ttl.min(MOST) * 2));
    let Some(token) = token else { return };
    let (world, name) = (post.world.clone(), name.clone());
    if !late {
        world.write(&name, token);
        return;
    }
    tokio::spawn(async move {
        tokio::time::sleep(length).await;
        world.write(&name, token);
    });
}

/// Works inside [`Guard::run`].
async fn run(post: &Post, guard: &Guard, hold: usize, random: &mut Random) {
    let world = &post.world;
    let steps = random.below(4);
    let step = random.length(Duration::from_millis(1), Duration::from_millis(100));
    let work = async {
        for _ in 0..steps {
            post.sleep(step).await;
            world.check.look(guard.name()).await;
        }
    };
    let polls = random.happens(world.plan.drops).then(|| random.below(6));
    match Limited::new(guard.run(work), polls).await {
        None => world.tally.count(Kind::RunDropped),
        Some(Ok(())) => {}
        Some(Err(lost)) => world.check.told(hold, tell(post, &lost)),
    }
}

async fn leave(
    post: &Post,
    guard: Guard,
    (hold, valid): (usize, bool),
    terms: &Terms,
    random: &mut Random,
) {
    let world = &post.world;
    let note = |what: &str| world.check.note(post.number, what);
    match random.below(10) {
        0..=5 => {
            note("releases");
            let polls = random.happens(world.plan.drops).then(|| random.below(4));
            let sent = post.clock.now();
            let (token, deadline) = (guard.token(), post.clock.true_at(guard.deadline()));
            match Limited::new(guard.release(), polls).await {
                None => world.tally.count(Kind::ReleaseDropped),
                Some(Ok(())) => {
                    note("has released");
                    world.check.released(hold);
                }
                Some(Err(ReleaseError::InDoubt(_))) => note("is in doubt about its release"),
                Some(Err(_)) => {
                    note("had lost before it released");
                    if valid {
                        world.check.release_lost(token, deadline);
                    }
                }
            }
            let took = post.clock.now().since(sent);
            world.check.released_within(post.number, took, post.resumed(), start(post, sent));
        }
        6 if terms.ttl <= MOST * 2 && !world.calm() && !world.plan.quiet => {
            note("leaves its lease to expire");
            let _ = guard.leave_to_expire();
        }
        _ => {
            note("drops its guard");
            drop(guard);
        }
    }
}

fn start(post: &Post, sent: Timestamp) -> Timestamp {
    post.clock.true_at(sent)
}
