//! Clause 9: first come, first served.

use std::time::Instant;

use tenure_core::proto::queue::{Answer, Ask, Order};

use super::{
    client::{Busy, Client, busy, expect_success},
    scene::{MARGIN, Scene},
    try_and_wait::without_queue,
};

/// How often a case begins anew because the machine was so slow that whoever was next had to be passed over.
const ANEW: u32 = 30;

/// Clause 9: the order of asking is the order of holding, whichever client asks.
pub async fn waiters_are_served_in_the_order_of_asking(scene: Scene) {
    let clients = [scene.client().await, scene.client().await, scene.client().await];
    let [holder, ..] = &clients;
    let held = holder.tries();
    holder.lock(&held).await;
    if without_queue(&scene, holder).await || scene.without_order() {
        return;
    }
    holder.let_go(&held.owner).await;
    for _ in 0..ANEW {
        if are_served_in_order(&clients).await {
            return;
        }
    }
    panic!("asking out of turn took longer than a claim window each time");
}

/// Whether they were, which no late answer shows.
async fn are_served_in_order(clients: &[Client; 3]) -> bool {
    let [holder, ..] = clients;
    let mut held = holder.tries();
    holder.lock(&held).await;
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
        let released = Instant::now();
        before.let_go(&held.owner).await;
        for (client, waits) in line.iter().skip(1).rev() {
            if out_of_turn(client, waits, released).await.is_none() {
                for (client, waits) in &line {
                    client.release(&waits.owner).await;
                }
                return false;
            }
            // Time is left for whoever is next.
            if released.elapsed() > client.can().claim_window / 4 {
                break;
            }
        }
        let (client, waits) = line.remove(0);
        client.lock_within(&waits, MARGIN).await;
        if released.elapsed() > client.can().claim_window / 2 {
            // Others may have been passed over meanwhile. They stand where they stood when they ask again.
            for (client, waits) in &line {
                client.busy(waits).await;
            }
        }
        (before, held) = (client, waits);
    }
    before.let_go(&held.owner).await;
    true
}

/// Asks although another is next, who was offered what was let go of after `released`, and must find the name taken; `None`
/// if it has it because the other did not claim it in time.
async fn out_of_turn(client: &Client, ask: &Ask, released: Instant) -> Option<Busy> {
    let answer = expect_success(client.ask(ask).await);
    let is_late = released.elapsed() >= client.can().claim_window;
    if is_late && matches!(answer, Answer::Granted { .. }) { None } else { Some(busy(answer)) }
}

/// Clause 9: a newcomer is not granted what a waiter has not claimed yet.
pub async fn a_newcomer_passes_nobody(scene: Scene) {
    let (holder, waiter) = (scene.client().await, scene.client().await);
    let mut held = holder.tries();
    holder.lock(&held).await;
    if without_queue(&scene, &waiter).await {
        return;
    }
    for _ in 0..ANEW {
        let waits = waiter.waits();
        waiter.busy(&waits).await;
        let released = Instant::now();
        holder.let_go(&held.owner).await;
        let newcomer = holder.waits();
        let Some(busy) = out_of_turn(&holder, &newcomer, released).await else {
            waiter.release(&waits.owner).await;
            held = newcomer;
            continue;
        };
        // Where the hand-off is implicit the waiter does not wait any more. Nor does one that was passed over.
        let is_late = released.elapsed() >= waiter.can().claim_window;
        assert!(is_late || busy.ahead == u32::from(!holder.can().implicit_handoff), "{busy:?}");
        waiter.lock_within(&waits, MARGIN).await;
        holder.busy(&newcomer).await;
        return;
    }
    panic!("asking out of turn took longer than a claim window each time");
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
