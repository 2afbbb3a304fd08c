//! Detached holds that are taken up, renewed or released by whoever finds the handle.

use std::{sync::atomic::Ordering, time::Duration};

use tenure_core::{HandleError, Timestamp};

use super::{ProcessContext, detached::LEASES, handles::DetachedHold, hold};
use crate::PollLimit;
use tenure_testkit::{Random, fault::Kind};

/// Does something with a handle that lies about, if there is one and this task looks for one. Whether
/// it did.
pub async fn take_up(context: &ProcessContext, random: &mut Random) -> bool {
    let stage = &context.stage;
    if !random.happens(250) {
        return false;
    }
    let Some(detached) = stage.handles.find(random) else { return false };
    match random.below(10) {
        0..=1 => renew(context, &detached, random).await,
        2 => release(context, &detached, random).await,
        _ => attach(context, &detached, random).await,
    }
    true
}

async fn renew(context: &ProcessContext, detached: &DetachedHold, random: &mut Random) {
    let lease = Duration::from_millis(*random.choose(LEASES));
    let lease = lease.min(context.stage.habits.longest_detached);
    context.note(&format!("renews the detached {}", detached.token));
    let renewed = context.tenure.renew_detached(&detached.handle, lease).await;
    if matches!(renewed, Err(HandleError::Lost(_))) {
        check_reported_loss(context, detached, 0, Timestamp::NEVER);
    }
}

async fn release(context: &ProcessContext, detached: &DetachedHold, random: &mut Random) {
    let polls = context.stage.habits.release_polls;
    touch(context, detached);
    context.note(&format!("releases the detached {}", detached.token));
    let cut = random.happens(context.stage.habits.drops).then(|| random.below(polls));
    let releasing = Box::pin(context.tenure.release_detached(&detached.handle));
    if let Some(Err(HandleError::Lost(_))) = PollLimit::new(releasing, cut).await {
        check_reported_loss(context, detached, 1, Timestamp::NEVER);
    }
}

async fn attach(context: &ProcessContext, detached: &DetachedHold, random: &mut Random) {
    let (stage, habits) = (&context.stage, &context.stage.habits);
    let mut terms = detached.terms;
    touch(context, detached);
    terms.max_hold = random.happens(100).then(|| Duration::from_millis(150));
    context.note(&format!("attaches the detached {}", detached.token));
    let attaching = context.tenure.attach(&detached.handle).ttl(terms.ttl).label(context.label());
    let attaching = match terms.max_hold {
        Some(longest) => attaching.max_hold(longest),
        None => attaching,
    };
    let cut = random.happens(habits.drops).then(|| random.below(habits.acquire_polls));
    // A call that was not heard of may have attached it, for a lease that is over by now.
    let until = stage.now().saturating_add(terms.ttl);
    let attaching = Box::pin(IntoFuture::into_future(attaching));
    match PollLimit::new(attaching, cut).await {
        None => stage.tally.count(Kind::AttachDropped),
        Some(Ok(guard)) => {
            stage.check.attached(detached.token, guard.token());
            Box::pin(hold(context, guard, &terms, random)).await;
        }
        Some(Err(HandleError::Lost(_))) => check_reported_loss(context, detached, 1, until),
        Some(Err(_)) => context.note("is in doubt about what it attaches"),
    }
}

/// From now on the detached hold may be in other hands.
fn touch(context: &ProcessContext, detached: &DetachedHold) {
    if let Some(hold) = detached.hold.get() {
        context.stage.check.ended(*hold);
    }
    detached.touches.fetch_add(1, Ordering::Relaxed);
}

/// Somebody was told that a detached hold is lost. That is wrong if nobody has touched it but the one
/// who is told, `own` times, and it is over neither by itself nor by what may have become of its touch,
/// at `until`.
fn check_reported_loss(
    context: &ProcessContext,
    detached: &DetachedHold,
    own: u64,
    until: Timestamp,
) {
    context.note("is told that it is lost");
    if detached.touches.load(Ordering::Relaxed) == own && !context.stage.habits.unseen_losses {
        let deadline = detached.clock.true_at(detached.deadline);
        context.stage.check.release_lost(detached.token, deadline.min(until));
    }
}
