//! Clause 15: a loss of memory shows.

use tenure_core::{Fault, Incarnation};

use super::{client::expect_success, scene::Scene};

/// What all see, if the store can tell; it refuses otherwise.
async fn checked_incarnation(scene: &Scene) -> Option<Incarnation> {
    let client = scene.client().await;
    let answer: Result<Incarnation, Fault> = client.incarnation().await;
    if client.can().incarnation {
        return Some(expect_success(answer));
    }
    scene.refused("incarnation", answer);
    None
}

/// Clause 15: all clients see the same one, at every call, and the engine too.
pub async fn everybody_sees_the_same_incarnation(scene: Scene) {
    let Some(first) = checked_incarnation(&scene).await else { return };
    let (one, other) = (scene.client().await, scene.client().await);
    for client in [&one, &other, &one.engine(), &other.engine(), &one] {
        assert_eq!(expect_success(client.incarnation().await), first);
    }
}

/// Clause 15: it stays the same through everything that is no loss.
pub async fn work_does_not_change_the_incarnation(scene: Scene) {
    let Some(first) = checked_incarnation(&scene).await else { return };
    let (one, other) = (scene.client().await, scene.client().await);
    let held = one.tries();
    one.lock(&held).await;
    other.busy(&other.tries()).await;
    one.let_go(&held.owner).await;
    other.lock(&other.tries()).await;
    other.evict().await;
    assert_eq!(expect_success(one.incarnation().await), first);
}

/// Clause 15: a store that lost its memory is another incarnation, each time.
pub async fn each_loss_changes_the_incarnation(scene: Scene) {
    let Some(first) = checked_incarnation(&scene).await else { return };
    if !scene.loss_shows() {
        eprintln!("not shown: the adapter deletes from outside, which is no loss of the store's");
        return;
    }
    let mut all = vec![first];
    while all.len() < 3 {
        if !scene.lose_data().await {
            return;
        }
        let now = expect_success(scene.client().await.incarnation().await);
        assert!(!all.contains(&now), "{now} was seen before: {all:?}");
        all.push(now);
    }
}
