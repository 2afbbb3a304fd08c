//! A task that takes several locks together.

use std::sync::Arc;

use tenure_core::Guard;

use super::{hold, limited::Limited, process::Post, task::Terms};
use crate::{Random, fault::Kind};

/// Acquires all names of the world, given in either order, and holds each of them for a while.
pub(super) async fn round(post: &Arc<Post>, index: u64, terms: &Terms, random: &mut Random) {
    let world = &post.world;
    let label = format!("process {}, ask {}", post.number, world.next_ask());
    let mut names = world.names.clone();
    if random.happens(500) {
        names.reverse();
    }
    let note = |what: &str| world.check.note(post.number, &format!("task {index}, all: {what}"));
    let all = terms.all(post, &names, &label);
    note("asks");
    let asking =
        async { if terms.tries { all.try_lock().await } else { all.lock().await.map(Some) } };
    let polls = random.happens(world.plan.drops).then(|| random.below(20));
    let guard = match Limited::new(asking, polls).await {
        None => {
            world.tally.count(Kind::AcquireDropped);
            return note("drops its acquire");
        }
        Some(Ok(Some(guard))) => guard,
        Some(Ok(None)) => return note("finds one taken"),
        Some(Err(error)) => {
            note("fails");
            return world.check.refused(&error);
        }
    };
    // A world has two names at most.
    let mut parts = guard.into_parts().into_iter();
    let (one, other, mut apart) = (parts.next(), parts.next(), random.split());
    tokio::join!(keep(post, one, terms, random), keep(post, other, terms, &mut apart));
}

async fn keep(post: &Post, part: Option<Guard>, terms: &Terms, random: &mut Random) {
    if let Some(part) = part {
        hold::hold(post, part, terms, random).await;
    }
}
