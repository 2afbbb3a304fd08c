//! Clause 10: a turn is one step.

use tenure_core::proto::{
    Renewed,
    queue::{Ask, Order, Released},
};

use super::{
    client::{busy, granted},
    scene::{LONG, MARGIN, Scene},
    try_and_wait::without_queue,
};

/// Clause 10: if nobody waits, the name is granted anew, with a fresh token and a full lease.
pub async fn a_turn_without_waiters_grants_anew(scene: Scene) {
    let client = scene.client().await;
    let (old, new) = (client.tries(), client.waits());
    let first = client.lock(&old).await;
    let next = granted(client.turn(&old.owner, &new).await);
    assert!(next.token > first.token, "{next:?} after {first:?}");
    assert!(next.left > client.full(LONG));
    assert_eq!(client.lock(&new).await.token, next.token);
}

/// Clause 10: whoever waits comes first, and who had its turn stands behind.
pub async fn a_turn_lets_the_waiter_go_first(scene: Scene) {
    let (client, waiter) = (scene.client().await, scene.client().await);
    let (old, new) = (client.tries(), client.waits());
    client.lock(&old).await;
    if without_queue(&scene, &waiter).await {
        return;
    }
    let waits = waiter.waits();
    waiter.busy(&waits).await;
    let behind = busy(client.turn(&old.owner, &new).await);
    assert!(behind.position.is_some());
    // Where the hand-off is implicit the waiter does not wait any more.
    assert_eq!(behind.ahead, u32::from(!client.can().implicit_handoff));
    waiter.lock(&waits).await;
    client.busy(&new).await;
    waiter.let_go(&waits.owner).await;
    client.lock_within(&new, MARGIN).await;
}

/// Clause 10: who asks without order does not pass the waiters either.
pub async fn a_barging_turn_passes_nobody(scene: Scene) {
    let (client, waiter) = (scene.client().await, scene.client().await);
    let (old, new) = (client.tries(), Ask { order: Order::Barging, ..client.waits() });
    client.lock(&old).await;
    if without_queue(&scene, &waiter).await {
        return;
    }
    let waits = Ask { order: Order::Barging, ..waiter.waits() };
    waiter.busy(&waits).await;
    let _ = busy(client.turn(&old.owner, &new).await);
    waiter.lock(&waits).await;
}

/// Clause 10: a turn that is sent twice answers like a repeated acquire.
pub async fn a_repeated_turn_answers_the_same(scene: Scene) {
    let client = scene.client().await;
    let (old, new) = (client.tries(), client.waits());
    client.lock(&old).await;
    let first = granted(client.turn(&old.owner, &new).await);
    let again = granted(client.turn(&old.owner, &new).await);
    assert_eq!(again.token, first.token);
    client.not_extended(again.left, first.left);
}

/// Clause 10: the old owner has let go.
pub async fn after_a_turn_the_old_owner_has_nothing(scene: Scene) {
    let client = scene.client().await;
    let (old, new) = (client.tries(), client.waits());
    client.lock(&old).await;
    let grant = granted(client.turn(&old.owner, &new).await);
    assert_eq!(client.renew(&old.owner, LONG).await, Renewed::Lost);
    assert_eq!(client.release(&old.owner).await, Released::NotHeld);
    assert_eq!(client.lock(&new).await.token, grant.token);
}

/// Clause 10: without anything to let go of, a turn is an ask.
pub async fn a_turn_of_one_who_has_nothing_is_an_ask(scene: Scene) {
    let client = scene.client().await;
    let new = client.tries();
    let grant = granted(client.turn(&scene.owner(), &new).await);
    assert_eq!(client.lock(&new).await.token, grant.token);
}
