//! Leases end by themselves, and not before.

use std::time::Duration;

use tenure_core::proto::queue::{Ask, Snapshot};

use super::scene::{LONG, MARGIN, SHORT, STEP, Scene};

/// Promise S5: a lease that nobody renews ends after its ttl.
pub async fn a_lease_ends_by_itself(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    holder.lock(&Ask { ttl: SHORT, ..holder.tries() }).await;
    let mut waited = Duration::ZERO;
    while holder.inspect().await != Snapshot::default() {
        assert!(waited < SHORT + MARGIN, "still held after {waited:?}");
        scene.pass(STEP).await;
        waited += STEP;
    }
    other.lock(&other.tries()).await;
}

/// Promise S1: nobody else is granted a name before its lease ends.
pub async fn a_lease_does_not_end_early(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    holder.lock(&Ask { ttl: LONG, ..holder.tries() }).await;
    let waits = other.waits();
    for _ in 0..20 {
        scene.pass(STEP).await;
        other.busy(&waits).await;
        other.busy(&other.tries()).await;
    }
}

/// Clause 1: what a holder is told to be left never grows by itself.
pub async fn the_rest_of_a_lease_counts_down(scene: Scene) {
    let holder = scene.client().await;
    let held = holder.tries();
    let mut last = holder.lock(&held).await.left;
    for _ in 0..5 {
        scene.pass(STEP).await;
        let left = holder.lock(&held).await.left;
        // Stores count whole milliseconds.
        assert!(left + STEP <= last + Duration::from_millis(1), "{left:?} after {last:?}");
        last = left;
    }
}

/// Promise S6: a waiter gets a name whose holder is silent, without anybody telling it.
pub async fn an_ended_lease_lets_the_waiter_in(scene: Scene) {
    let (holder, waiter) = (scene.client().await, scene.client().await);
    holder.lock(&Ask { ttl: SHORT, ..holder.tries() }).await;
    waiter.lock_within(&waiter.waits(), SHORT + waiter.can().claim_window + MARGIN).await;
}

/// Clause 13: where the end of a process is noticed, its holds and places end with it; elsewhere
/// they last until their leases end.
pub async fn the_end_of_a_process_frees_its_holds(scene: Scene) {
    let (holder, waiter, other) =
        (scene.client().await, scene.client().await, scene.client().await);
    let notices = holder.can().notices_death;
    holder.lock(&holder.tries()).await;
    waiter.ask(&waiter.waits()).await.ok();
    let shown = scene.kill(holder).await && scene.kill(waiter).await;
    if notices {
        assert!(shown, "the store notices the end of a process, the adapter must show it");
        other.lock_within(&other.waits(), MARGIN).await;
    } else {
        eprintln!("not shown: the store declares that it does not notice the end of a process");
        other.busy(&other.tries()).await;
        #[cfg(unix)]
        assert!(other.store().liveness().is_none());
    }
}
