//! Clause 7: only your own.

use tenure_core::proto::{Renewed, queue::Released};

use super::{
    client::busy,
    scene::{LONG, Scene},
    try_and_wait::without_queue,
};

/// Clause 7: a release with another owner frees nothing.
pub async fn a_release_by_another_owner_changes_nothing(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    let held = holder.tries();
    let grant = holder.lock(&held).await;
    assert_eq!(other.release(&scene.owner()).await, Released::NotHeld);
    assert_eq!(holder.release(&scene.owner()).await, Released::NotHeld);
    other.busy(&other.tries()).await;
    assert_eq!(holder.lock(&held).await.token, grant.token);
}

/// Clause 7: a renewal with another owner extends nothing.
pub async fn a_renewal_by_another_owner_changes_nothing(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    let held = holder.tries();
    let first = holder.lock(&held).await;
    assert_eq!(other.renew(&scene.owner(), LONG * 2).await, Renewed::Lost);
    holder.not_extended(holder.lock(&held).await.left, first.left);
}

/// Clause 7: a turn with another owner takes nothing away.
pub async fn a_turn_by_another_owner_changes_nothing(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    let held = holder.tries();
    let grant = holder.lock(&held).await;
    let _ = busy(other.turn(&scene.owner(), &other.tries()).await);
    assert_eq!(holder.lock(&held).await.token, grant.token);
}

/// Clause 7: who leaves the queue takes nobody with it.
pub async fn giving_up_one_place_leaves_the_others(scene: Scene) {
    let client = scene.client().await;
    client.lock(&client.tries()).await;
    if without_queue(&scene, &client).await {
        return;
    }
    let (first, second) = (client.waits(), client.waits());
    client.busy(&first).await;
    client.busy(&second).await;
    client.let_go(&first.owner).await;
    assert_eq!(client.release(&scene.owner()).await, Released::NotHeld);
    assert_eq!(client.inspect().await.waiters.len(), 1);
    assert_eq!(client.busy(&second).await.ahead, 0);
}

/// Clause 7: it is the acquisition that owns, not the client.
pub async fn two_owners_of_one_client_exclude_each_other(scene: Scene) {
    let client = scene.client().await;
    let (one, two) = (client.tries(), client.tries());
    client.lock(&one).await;
    client.busy(&two).await;
    client.let_go(&one.owner).await;
    client.lock(&two).await;
    client.busy(&one).await;
}
