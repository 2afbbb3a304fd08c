//! One hold: it works, is watched, and ends in one of many ways.

use std::{future::pending, sync::Arc, time::Duration};

use tenure_core::{
    Clock, DowngradeError, Guard, Lost, ReleaseError, WriteGuard, proto::queue::Mode,
};
use tenure_testkit::{
    Random,
    check::{Told, Watched},
    fault::Kind,
    sim::Limited,
};

use super::{
    plan::Locks,
    process::Post,
    seen::Sight,
    task::{Terms, is_the_end},
};

const STEP: Duration = Duration::from_millis(2);
const MOST: Duration = Duration::from_secs(1);

/// Holds `guard` for a while and lets it go.
pub(super) async fn hold(post: &Arc<Post>, guard: Guard, terms: &Terms, random: &mut Random) {
    let world = &post.world;
    let mut guard = Arc::new(guard);
    world.members.won(guard.name(), guard.token());
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
    stay(post, &guard, hold, terms, random).await;
    let mut mode = terms.mode;
    let writes = mode == Mode::Exclusive && world.plan.locks == Locks::ReadWrite;
    if writes && random.happens(400) && guard.check().is_ok() {
        let Some(still) = downgrade(post, guard, hold, random).await else { return };
        (guard, mode) = still;
        stay(post, &guard, hold, &Terms { mode, ..*terms }, random).await;
    }
    let valid = world.check.ended(hold);
    if let Ok(guard) = Arc::try_unwrap(guard) {
        leave(post, guard, valid, random).await;
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
    world.check.downgrades(hold);
    post.note("lets readers in");
    let polls = random.happens(world.plan.drops).then(|| random.below(6));
    let writer = WriteGuard::from(Arc::into_inner(guard)?);
    let (guard, mode) = match Limited::new(Box::pin(writer.downgrade()), polls).await {
        None => {
            world.tally.count(Kind::DowngradeDropped);
            return None;
        }
        Some(Ok(guard)) => {
            let (name, token) = (guard.name(), guard.token());
            let really = world.members.let_readers_in(name, token).await;
            world.check.lets_readers_in(token, really);
            (guard, Mode::Shared)
        }
        Some(Err(DowngradeError::InDoubt { guard, .. })) => {
            post.note("is in doubt about its downgrade");
            (guard, Mode::Shared)
        }
        Some(Err(DowngradeError::StillWriting { guard, .. })) => {
            post.note("goes on writing");
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
        Duration::from_millis(1_500) / (1 << random.below(7))
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
        world.check.look(guard.name()).await;
        write(post, guard, terms, random);
    }
}

fn tell(post: &Post, lost: &Lost) -> Told {
    Told { reason: lost.reason, resumed: post.resumed(), last_trouble: post.last_trouble() }
}

/// Writes with the token, if the hold may be counted on. Some writes are long under way.
fn write(post: &Post, guard: &Guard, terms: &Terms, random: &mut Random) {
    let (late, length) =
        (random.happens(300), random.length(Duration::ZERO, terms.ttl.min(MOST) * 2));
    let Ok(token) = guard.check() else { return };
    if terms.mode != Mode::Exclusive {
        return;
    }
    let (world, name) = (post.world.clone(), guard.name().clone());
    if !late {
        return world.write(&name, token);
    }
    tokio::spawn(async move {
        tokio::time::sleep(length).await;
        world.write(&name, token);
    });
}

async fn leave(post: &Arc<Post>, guard: Guard, valid: bool, random: &mut Random) {
    let world = &post.world;
    match random.below(10) {
        0..=5 => {
            post.note("releases");
            let is_the_end = is_the_end(post, random);
            let dropped = is_the_end || random.happens(world.plan.drops);
            let polls = dropped.then(|| random.below(6));
            let sent = post.clock.now();
            let (token, deadline) = (guard.token(), post.clock.true_at(guard.deadline()));
            match Limited::new(guard.release(), polls).await {
                None if is_the_end => {
                    world.seen.count(Sight::EndedReleasing);
                    post.crash();
                    pending().await
                }
                None => world.tally.count(Kind::ReleaseDropped),
                Some(Ok(())) => post.note("has released"),
                Some(Err(ReleaseError::InDoubt(_))) => post.note("is in doubt about its release"),
                Some(Err(_)) => {
                    post.note("had lost before it released");
                    // Where it held no more than a majority, one that lost its memory is enough.
                    if valid && !world.plan.wipes {
                        world.check.release_lost(token, deadline);
                    }
                }
            }
            let took = post.clock.now().since(sent);
            let sent = post.clock.true_at(sent);
            world.check.released_within(post.number, took, post.resumed(), sent);
        }
        6 if !world.calm() && !world.plan.quiet && !world.plan.long => {
            post.note("leaves its lease to expire");
            let _ = guard.leave_to_expire();
        }
        _ => {
            post.note("drops its guard");
            drop(guard);
        }
    }
}
