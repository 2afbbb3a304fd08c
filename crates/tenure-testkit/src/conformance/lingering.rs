//! Clause 6: a name that stays taken after its release.

use std::time::Duration;

use tenure_core::proto::{
    Renewed,
    queue::{Ask, Intent, Kind, Mode, Order, Released},
};

use super::{
    Client,
    scene::{LONG, MARGIN, SHORT, Scene},
};

/// A client that released a name which stays taken for `keep`; `None` where the store has no such
/// thing, which it must say.
async fn released_keeping(scene: &Scene, keep: Duration) -> Option<(Client, Ask)> {
    let client = scene.client().await;
    let held = Ask { label: "kept".into(), ..client.tries() };
    client.lock(&held).await;
    if client.can().longest_keep.is_zero() {
        let outcome = client.release_keeping(&held.owner, keep).await;
        scene.refused("keeping of names after a release", outcome);
        return None;
    }
    client.let_go_keeping(&held.owner, keep).await;
    Some((client, held))
}

/// Clause 6: with `keep`, the release frees nothing yet.
pub async fn a_kept_name_stays_taken(scene: Scene) {
    let Some((client, _)) = released_keeping(&scene, LONG).await else { return };
    let other = scene.client().await;
    other.busy(&other.tries()).await;
    let holders = client.inspect().await.holders;
    let shown: Vec<_> =
        holders.iter().map(|holder| (holder.label.as_str(), holder.lingering)).collect();
    assert_eq!(shown, [("kept", true)]);
}

/// Clause 6: what is kept ends by itself.
pub async fn a_kept_name_is_free_in_the_end(scene: Scene) {
    let Some(_) = released_keeping(&scene, SHORT).await else { return };
    let other = scene.client().await;
    other.lock_within(&other.waits(), SHORT + MARGIN).await;
}

/// Clauses 6, 13: more than it can keep is refused, and the hold is what it was.
pub async fn a_keep_that_is_too_long_is_refused(scene: Scene) {
    let client = scene.client().await;
    let held = client.tries();
    client.lock(&held).await;
    let longest = client.can().longest_keep;
    let Some(keep) = longest.checked_add(Duration::from_secs(1)) else { return };
    let outcome = client.release_keeping(&held.owner, keep).await;
    assert!(outcome.is_err(), "kept for longer than it can: {outcome:?}");
    let holders = client.inspect().await.holders;
    assert_eq!(holders.iter().map(|holder| holder.lingering).collect::<Vec<_>>(), [false]);
}

/// Clause 6: the old owner has no say any more.
pub async fn a_kept_name_can_be_neither_renewed_nor_released(scene: Scene) {
    let Some((client, held)) = released_keeping(&scene, LONG).await else { return };
    assert_eq!(client.renew(&held.owner, LONG * 2).await, Renewed::Lost);
    assert_eq!(client.release(&held.owner).await, Released::NotHeld);
    let seen = client.busy(&client.tries()).await.holder.and_then(|holder| holder.left);
    assert!(seen.is_none_or(|left| left <= LONG), "{seen:?}");
}

/// Clause 6: an operator can end it.
pub async fn a_kept_name_can_be_evicted(scene: Scene) {
    let Some((client, _)) = released_keeping(&scene, LONG).await else { return };
    client.evict().await;
    client.lock(&client.tries()).await;
}

/// Clause 6: the name stays taken whatever becomes of the process.
pub async fn a_kept_name_outlives_its_process(scene: Scene) {
    let Some((client, _)) = released_keeping(&scene, LONG).await else { return };
    if !scene.kill(client).await {
        eprintln!("not shown: the adapter knows no way to end a client");
    }
    let other = scene.client().await;
    scene.pass(SHORT).await;
    other.busy(&other.tries()).await;
}

/// Clause 6: an owner that let go with `keep` is there once, however often it asks.
pub async fn a_kept_owner_is_granted_nothing(scene: Scene) {
    let (one, other) = (scene.client().await, scene.client().await);
    let (kind, mode) = if one.can().shared {
        (Kind::ReadWrite, Mode::Shared)
    } else {
        (Kind::Mutex, Mode::Exclusive)
    };
    let held = Ask { kind, mode, order: Order::Barging, ..one.tries() };
    one.lock(&held).await;
    if one.can().longest_keep.is_zero() {
        let outcome = one.release_keeping(&held.owner, LONG).await;
        scene.refused("keeping of names after a release", outcome);
        return;
    }
    one.let_go_keeping(&held.owner, LONG).await;
    for client in [&one, &other] {
        client.busy(&held).await;
        client.busy(&Ask { intent: Intent::Wait { position: None }, ..held.clone() }).await;
    }
    let seen = one.inspect().await;
    assert_eq!((seen.holders.len(), seen.waiters.len()), (1, 0), "{seen:?}");
    one.evict().await;
    one.lock(&held).await;
}
