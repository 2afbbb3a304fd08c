//! Clause 9: first come, first served.

use tenure_core::proto::queue::{Ask, Order};

use super::{
    scene::{MARGIN, Scene},
    try_and_wait::without_queue,
};

/// Clause 9: the order of asking is the order of holding, whichever client asks.
pub async fn waiters_are_served_in_the_order_of_asking(scene: Scene) {
    let clients = [scene.client().await, scene.client().await, scene.client().await];
    let [holder, ..] = &clients;
    let mut held = holder.tries();
    holder.lock(&held).await;
    if without_queue(&scene, holder).await || scene.without_order() {
        return;
    }
    let mut line = Vec::new();
    for client in clients.iter().cycle().take(7) {
        let waits = client.waits();
        client.busy(&waits).await;
        line.push((client, waits));
    }
    // Asking out of turn changes nothing.
    for (client, waits) in line.iter().rev() {
        client.busy(waits).await;
    }
    let mut before = holder;
    while !line.is_empty() {
        before.let_go(&held.owner).await;
        for (client, waits) in line.iter().skip(1).rev() {
            client.busy(waits).await;
        }
        let (client, waits) = line.remove(0);
        client.lock_within(&waits, MARGIN).await;
        (before, held) = (client, waits);
    }
}

/// Clause 9: a newcomer is not granted what a waiter has not claimed yet.
pub async fn a_newcomer_passes_nobody(scene: Scene) {
    let (holder, waiter) = (scene.client().await, scene.client().await);
    let held = holder.tries();
    holder.lock(&held).await;
    if without_queue(&scene, &waiter).await {
        return;
    }
    let waits = waiter.waits();
    waiter.busy(&waits).await;
    holder.let_go(&held.owner).await;
    let newcomer = holder.waits();
    let busy = holder.busy(&newcomer).await;
    // Where the hand-off is implicit the waiter does not wait any more.
    assert_eq!(busy.ahead, u32::from(!holder.can().implicit_handoff));
    waiter.lock(&waits).await;
    holder.busy(&newcomer).await;
}

/// Clause 9: everybody knows how many come first.
pub async fn ahead_counts_those_in_front(scene: Scene) {
    let client = scene.client().await;
    client.lock(&client.tries()).await;
    if without_queue(&scene, &client).await {
        return;
    }
    let line: Vec<Ask> = (0..4).map(|_| client.waits()).collect();
    for waits in &line {
        client.busy(waits).await;
    }
    for (ahead, waits) in (0..).zip(&line) {
        assert_eq!(client.busy(waits).await.ahead, ahead);
    }
    assert_eq!(client.busy(&client.tries()).await.ahead, 4);
}

/// Clause 9: who left is skipped at once.
pub async fn a_waiter_that_left_is_not_waited_for(scene: Scene) {
    let client = scene.client().await;
    let held = client.tries();
    client.lock(&held).await;
    if without_queue(&scene, &client).await {
        return;
    }
    let (gone, stays) = (client.waits(), client.waits());
    client.busy(&gone).await;
    client.busy(&stays).await;
    client.let_go(&gone.owner).await;
    client.let_go(&held.owner).await;
    client.lock(&stays).await;
}

/// Clause 9: who does not mind the order gets a free name, and no other.
pub async fn a_barging_ask_takes_a_free_name(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    let held = Ask { order: Order::Barging, ..holder.tries() };
    holder.lock(&held).await;
    let barges = Ask { order: Order::Barging, ..other.waits() };
    other.busy(&barges).await;
    holder.let_go(&held.owner).await;
    other.lock_within(&barges, MARGIN).await;
    holder.busy(&Ask { order: Order::Barging, ..holder.tries() }).await;
}
