//! Clause 3: a hand-off is claimed.

use std::time::Duration;

use tenure_core::proto::{
    Renewed,
    queue::{Ask, Order},
};

use super::{
    Client,
    scene::{LONG, MARGIN, Scene},
    try_and_wait::without_queue,
};

/// Clause 3: what is released goes to the waiter, not to who happens to come by.
pub async fn a_release_offers_the_name_to_the_next_waiter(scene: Scene) {
    let (holder, waiter) = (scene.client().await, scene.client().await);
    let Some(waits) = after_a_release(&holder, &waiter).await else { return };
    holder.busy(&holder.tries()).await;
    holder.busy(&Ask { order: Order::Barging, ..holder.tries() }).await;
    waiter.lock(&waits).await;
}

/// Clause 3: an offer is no hold: it is not shown as one and cannot be renewed.
pub async fn nobody_holds_a_name_before_claiming_it(scene: Scene) {
    let (holder, waiter) = (scene.client().await, scene.client().await);
    let Some(waits) = after_a_release(&holder, &waiter).await else { return };
    // Where the hand-off is implicit, the store cannot tell whether it was claimed.
    let shown = usize::from(holder.can().implicit_handoff);
    assert_eq!(holder.inspect().await.holders.len(), shown);
    assert_eq!(waiter.renew(&waits.owner, LONG).await, Renewed::Lost);
    waiter.lock(&waits).await;
}

/// Clause 3: the lease begins with the claim.
pub async fn a_claim_sets_the_full_ttl(scene: Scene) {
    let (holder, waiter) = (scene.client().await, scene.client().await);
    let Some(waits) = after_a_release(&holder, &waiter).await else { return };
    let grant = waiter.lock(&waits).await;
    assert!(grant.left > waiter.full(LONG) && grant.left <= LONG, "{grant:?}");
}

/// Clause 3: a waiter that is gone holds up the others for one claim window.
pub async fn an_unclaimed_offer_passes_on(scene: Scene) {
    let (holder, gone, next) = (scene.client().await, scene.client().await, scene.client().await);
    let held = holder.tries();
    holder.lock(&held).await;
    if !holder.can().handoff {
        without_handoff(&holder, &held).await;
        return;
    }
    gone.busy(&gone.waits()).await;
    let waits = next.waits();
    next.busy(&waits).await;
    holder.let_go(&held.owner).await;
    next.lock_within(&waits, next.can().claim_window + MARGIN).await;
}

/// Clause 3: whoever is offered a name is told to come for it. A hint can be lost, not all of
/// them.
pub async fn the_next_waiter_is_hinted(scene: Scene) {
    let (holder, waiter) = (scene.client().await, scene.client().await);
    // Without a queue the store knows of nobody to hint to.
    if without_queue(&scene, &waiter).await {
        return;
    }
    let mut heard = 0;
    for round in 0..10 {
        let held = holder.tries();
        holder.lock(&held).await;
        let waits = waiter.waits();
        let mut wakeups = waiter.wakeups(&waits.owner);
        waiter.busy(&waits).await;
        holder.let_go(&held.owner).await;
        let patience = waiter.can().claim_window;
        tokio::select! {
            biased;
            () = wakeups.next() => heard += 1,
            () = pass_in_steps(&scene, patience) => eprintln!("round {round}: no hint came"),
        }
        waiter.lock_within(&waits, MARGIN).await;
        waiter.let_go(&waits.owner).await;
    }
    assert!(heard > 0, "no waiter was ever hinted");
}

async fn pass_in_steps(scene: &Scene, length: Duration) {
    for _ in 0..50 {
        scene.pass(length / 50).await;
    }
}

/// A waiter's ask after the holder let go; `None` when the store hands nothing off.
async fn after_a_release(holder: &Client, waiter: &Client) -> Option<Ask> {
    let held = holder.tries();
    holder.lock(&held).await;
    if !holder.can().handoff {
        without_handoff(holder, &held).await;
        return None;
    }
    let waits = waiter.waits();
    waiter.busy(&waits).await;
    holder.let_go(&held.owner).await;
    Some(waits)
}

/// A store without hand-off frees the name for whoever asks.
async fn without_handoff(holder: &Client, held: &Ask) {
    eprintln!("not shown: the store declares that it has no hand-off; a release frees the name");
    holder.let_go(&held.owner).await;
    holder.lock_within(&holder.waits(), MARGIN).await;
}
