//! Clause 8: tokens rise.

use tenure_core::proto::queue::Ask;

use super::scene::{MARGIN, SHORT, Scene};

/// Clause 8: each grant has a greater token than the one before it, whichever client asks.
pub async fn tokens_rise_after_a_release(scene: Scene) {
    let clients = [scene.client().await, scene.client().await];
    let mut last = None;
    for client in clients.iter().cycle().take(20) {
        let held = client.tries();
        let grant = client.lock(&held).await;
        assert!(Some(grant.token) > last, "{:?} after {last:?}", grant.token);
        last = Some(grant.token);
        client.let_go(&held.owner).await;
    }
}

/// Clause 8: a lease that ended by itself is fenced off by the next one.
pub async fn tokens_rise_after_an_expiry(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    let first = holder.lock(&Ask { ttl: SHORT, ..holder.tries() }).await;
    let next = other.lock_within(&other.waits(), SHORT + MARGIN).await;
    assert!(next.token > first.token, "{next:?} after {first:?}");
}

/// Clause 8: an evicted holder is fenced off by the next one.
pub async fn tokens_rise_after_an_eviction(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    let first = holder.lock(&holder.tries()).await;
    other.evict().await;
    let next = other.lock(&other.tries()).await;
    assert!(next.token > first.token, "{next:?} after {first:?}");
}

/// Clause 8: a hand-off gives a greater token too.
pub async fn tokens_rise_through_a_handoff(scene: Scene) {
    let (holder, waiter) = (scene.client().await, scene.client().await);
    let held = holder.tries();
    let first = holder.lock(&held).await;
    let waits = waiter.waits();
    waiter.busy(&waits).await;
    holder.let_go(&held.owner).await;
    let next = waiter.lock_within(&waits, MARGIN).await;
    assert!(next.token > first.token, "{next:?} after {first:?}");
}

/// Clause 8, promise S2: tokens rise also when the store forgot the last one.
pub async fn tokens_rise_when_the_store_lost_its_data(scene: Scene) {
    let client = scene.client().await;
    let first = client.lock(&client.tries()).await;
    // Some time passes between a grant and the loss of it: a restart is not instant.
    scene.pass(SHORT).await;
    if !scene.lose_data().await {
        return;
    }
    let again = scene.client().await;
    let next = again.lock_within(&again.waits(), MARGIN).await;
    assert!(next.token > first.token, "{next:?} after {first:?}");
}

/// Clause 13: where passes fit, the store's own tokens are those of pass zero.
pub async fn tokens_leave_room_for_passes(scene: Scene) {
    let client = scene.client().await;
    let held = client.tries();
    let first = client.lock(&held).await.token;
    if !client.can().pass_bits {
        eprintln!("not shown: the store declares that its tokens leave no room for passes");
        return;
    }
    assert_eq!(first.pass(), 0, "{first}");
    client.let_go(&held.owner).await;
    let last_pass = first.get() | tenure_core::proto::Token::MAX_PASS;
    let next = client.lock(&client.tries()).await.token;
    assert!(next.get() > last_pass, "{next} does not lie above all passes of {first}");
}
