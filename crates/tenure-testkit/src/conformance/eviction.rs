//! Clause 7: an operator may take a name from whoever holds it.

use tenure_core::proto::{
    Renewed,
    queue::{Ask, Order, Released},
};

use super::{
    scene::{LONG, MARGIN, Scene},
    try_and_wait::without_queue,
};

/// Clauses 5, 6, 7: an evicted holder can neither renew nor release.
pub async fn an_evicted_holder_has_lost(scene: Scene) {
    let (holder, operator) = (scene.client().await, scene.client().await);
    let held = holder.tries();
    holder.lock(&held).await;
    operator.evict().await;
    assert_eq!(holder.renew(&held.owner, LONG).await, Renewed::Lost);
    assert_eq!(holder.release(&held.owner).await, Released::NotHeld);
    assert_eq!(operator.inspect().await.holders, []);
}

/// Clause 7: an eviction says whom it hit.
pub async fn an_eviction_says_who_held(scene: Scene) {
    let (holder, operator) = (scene.client().await, scene.client().await);
    let grant = holder.lock(&Ask { label: "evicted".to_owned(), ..holder.tries() }).await;
    let Some(evicted) = operator.evict().await else {
        eprintln!("not shown: the answer was lost on its way");
        return;
    };
    let shown: Vec<_> =
        evicted.iter().map(|holder| (holder.label.as_str(), holder.token)).collect();
    assert_eq!(shown, [("evicted", Some(grant.token))]);
}

/// Clauses 3, 7: an eviction serves the line as a release does.
pub async fn an_eviction_lets_the_next_waiter_in(scene: Scene) {
    let (holder, waiter) = (scene.client().await, scene.client().await);
    let first = holder.lock(&holder.tries()).await;
    if without_queue(&scene, &waiter).await {
        return;
    }
    let waits = waiter.waits();
    waiter.busy(&waits).await;
    holder.evict().await;
    if holder.can().handoff {
        holder.busy(&Ask { order: Order::Barging, ..holder.tries() }).await;
    }
    let next = waiter.lock_within(&waits, MARGIN).await;
    assert!(next.token > first.token);
}

/// Clause 7: evicting nobody takes nothing from those who wait or come.
pub async fn evicting_nobody_is_harmless(scene: Scene) {
    let client = scene.client().await;
    assert!(client.evict().await.is_none_or(|evicted| evicted.is_empty()));
    client.lock(&client.tries()).await;
}
