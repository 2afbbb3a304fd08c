//! Clause 6: a release is idempotent and gives up a place too.

use tenure_core::proto::queue::{Ask, Released};

use super::{
    scene::{MARGIN, SHORT, Scene},
    try_and_wait::without_queue,
};

/// Clauses 4, 6: what was released can be had by anybody.
pub async fn a_release_frees_the_name(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    let held = holder.tries();
    holder.lock(&held).await;
    other.busy(&other.tries()).await;
    holder.let_go(&held.owner).await;
    other.lock(&other.tries()).await;
}

/// Clause 6: the second release has nothing to do, and does nothing to the next holder.
pub async fn a_repeated_release_answers_not_held(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    let held = holder.tries();
    holder.lock(&held).await;
    holder.let_go(&held.owner).await;
    assert_eq!(holder.release(&held.owner).await, Released::NotHeld);
    let next = other.tries();
    let grant = other.lock(&next).await;
    assert_eq!(holder.release(&held.owner).await, Released::NotHeld);
    assert_eq!(other.lock(&next).await.token, grant.token);
}

/// Clause 6: releasing what was never held is no fault.
pub async fn a_release_of_nothing_answers_not_held(scene: Scene) {
    let client = scene.client().await;
    assert_eq!(client.release(&scene.owner()).await, Released::NotHeld);
    assert_eq!(client.inspect().await.holders, []);
}

/// Clause 6: a waiter leaves the queue by a release.
pub async fn a_release_gives_up_a_place(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    let held = holder.tries();
    holder.lock(&held).await;
    if without_queue(&scene, &other).await {
        return;
    }
    let waits = other.waits();
    other.busy(&waits).await;
    other.let_go(&waits.owner).await;
    assert_eq!(holder.inspect().await.waiters, []);
    holder.let_go(&held.owner).await;
    holder.lock(&holder.tries()).await;
}

/// Clause 6: a lease that ended by itself is not held any more.
pub async fn a_release_tells_nothing_to_a_lease_that_ended(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    let held = Ask { ttl: SHORT, ..holder.tries() };
    holder.lock(&held).await;
    let next = other.waits();
    other.lock_within(&next, SHORT + MARGIN).await;
    assert_eq!(holder.release(&held.owner).await, Released::NotHeld);
    holder.busy(&holder.tries()).await;
}
