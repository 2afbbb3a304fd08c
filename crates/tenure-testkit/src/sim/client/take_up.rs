//! Detached holds that are taken up, renewed or released by whoever finds the handle.

use std::{sync::atomic::Ordering, time::Duration};

use tenure_core::{HandleError, Timestamp};

use super::{Post, detached::LEASES, handles::DetachedHold, hold};
use crate::{Random, fault::Kind, sim::Limited};

/// Does something with a handle that lies about, if there is one and this task looks for one. Whether
/// it did.
pub async fn take_up(post: &Post, random: &mut Random) -> bool {
    let stage = &post.stage;
    if !random.happens(250) {
        return false;
    }
    let Some(detached) = stage.handles.find(random) else { return false };
    match random.below(10) {
        0..=1 => renew(post, &detached, random).await,
        2 => release(post, &detached, random).await,
        _ => attach(post, &detached, random).await,
    }
    true
}

async fn renew(post: &Post, detached: &DetachedHold, random: &mut Random) {
    let lease = Duration::from_millis(*random.choose(LEASES));
    let lease = lease.min(post.stage.habits.longest_detached);
    post.note(&format!("renews the detached {}", detached.token));
    let renewed = post.tenure.renew_detached(&detached.handle, lease).await;
    if matches!(renewed, Err(HandleError::Lost(_))) {
        lost(post, detached, 0, Timestamp::NEVER);
    }
}

async fn release(post: &Post, detached: &DetachedHold, random: &mut Random) {
    let polls = post.stage.habits.release_polls;
    touch(post, detached);
    post.note(&format!("releases the detached {}", detached.token));
    let cut = random.happens(post.stage.habits.drops).then(|| random.below(polls));
    let releasing = Box::pin(post.tenure.release_detached(&detached.handle));
    if let Some(Err(HandleError::Lost(_))) = Limited::new(releasing, cut).await {
        lost(post, detached, 1, Timestamp::NEVER);
    }
}

async fn attach(post: &Post, detached: &DetachedHold, random: &mut Random) {
    let (stage, habits) = (&post.stage, &post.stage.habits);
    let mut terms = detached.terms;
    touch(post, detached);
    terms.max_hold = random.happens(100).then(|| Duration::from_millis(150));
    post.note(&format!("attaches the detached {}", detached.token));
    let attaching = post.tenure.attach(&detached.handle).ttl(terms.ttl).label(post.label());
    let attaching = match terms.max_hold {
        Some(longest) => attaching.max_hold(longest),
        None => attaching,
    };
    let cut = random.happens(habits.drops).then(|| random.below(habits.acquire_polls));
    // A call that was not heard of may have attached it, for a lease that is over by now.
    let until = stage.now().saturating_add(terms.ttl);
    let attaching = Box::pin(IntoFuture::into_future(attaching));
    match Limited::new(attaching, cut).await {
        None => stage.tally.count(Kind::AttachDropped),
        Some(Ok(guard)) => {
            stage.check.attached(detached.token, guard.token());
            Box::pin(hold(post, guard, &terms, random)).await;
        }
        Some(Err(HandleError::Lost(_))) => lost(post, detached, 1, until),
        Some(Err(_)) => post.note("is in doubt about what it attaches"),
    }
}

/// From now on the detached hold may be in other hands.
fn touch(post: &Post, detached: &DetachedHold) {
    if let Some(hold) = detached.hold.get() {
        post.stage.check.ended(*hold);
    }
    detached.touches.fetch_add(1, Ordering::Relaxed);
}

/// Somebody was told that a detached hold is lost. That is wrong if nobody has touched it but the one
/// who is told, `own` times, and it is over neither by itself nor by what may have become of its touch,
/// at `until`.
fn lost(post: &Post, detached: &DetachedHold, own: u64, until: Timestamp) {
    post.note("is told that it is lost");
    if detached.touches.load(Ordering::Relaxed) == own && !post.stage.habits.unseen_losses {
        let deadline = detached.clock.true_at(detached.deadline);
        post.stage.check.release_lost(detached.token, deadline.min(until));
    }
}
