//! Curator's `Revoker` asks us to let go.

use tenure_core::{Eviction, Guard, LostReason};
use tokio::time::timeout;

use crate::support::{PATIENCE, hold, quiet_server, until};

use super::{
    program::Curator,
    scene::{Scene, tenure, until_watched},
};

/// A hold of ours, whose node is watched.
async fn held(scene: &Scene, setting: &str) -> (Guard, String) {
    let guard = tenure(&scene.url_with(setting)).mutex("lock").lock().await.unwrap();
    let node = &scene.raw().await.list(&scene.path("lock")).await[0];
    let node = format!("{}/{node}", scene.path("lock"));
    until_watched(quiet_server(), &node, 1).await;
    (guard, node)
}

#[tokio::test]
async fn a_holder_that_complies_with_a_revocation_loses_its_lock_to_who_waits() {
    let scene = Scene::new();
    let (guard, node) = held(&scene, "&revocation=comply").await;
    let mut waits = scene.hold(Curator::Five, "mutex", "lock");
    scene.peer(Curator::Five, &["revoke", &node]).says_this("done").await;
    let lost = timeout(PATIENCE, guard.lost()).await.unwrap();
    assert_eq!(lost.reason, LostReason::Taken);
    assert!(guard.is_release_requested(), "it is not told why");
    assert!(guard.check().is_err());
    assert!(waits.says_held().await.czxid > guard.token().time());
}

#[tokio::test]
async fn a_holder_that_does_not_comply_keeps_its_lock() {
    let scene = Scene::new();
    let (guard, node) = held(&scene, "").await;
    assert!(!guard.is_release_requested());
    scene.peer(Curator::Four, &["revoke", &node]).says_this("done").await;
    timeout(PATIENCE, guard.release_requested()).await.unwrap();
    guard.check().unwrap();
    assert!(scene.tenure().mutex("lock").try_lock().await.unwrap().is_none());
    guard.release().await.unwrap();
}

#[tokio::test]
async fn readers_writers_and_holders_of_several_locks_hear_of_a_request() {
    let scene = Scene::new();
    let (tenure, raw) = (scene.tenure(), scene.raw().await);
    let revoke = async |lock: &str, index: usize| {
        let node = &raw.list(&scene.path(lock)).await[index];
        raw.revoke(&format!("{}/{node}", scene.path(lock))).await;
    };
    let prices = tenure.rwlock("prices");
    let writer = prices.write().await.unwrap();
    revoke("prices", 0).await;
    timeout(PATIENCE, writer.release_requested()).await.unwrap();
    writer.release().await.unwrap();

    let (one, other) = (prices.read().await.unwrap(), prices.read().await.unwrap());
    revoke("prices", 1).await;
    timeout(PATIENCE, other.release_requested()).await.unwrap();
    assert!(!one.is_release_requested(), "the other one was asked");

    let both = tenure.all(["a", "b"]).lock().await.unwrap();
    revoke("b", 0).await;
    timeout(PATIENCE, both.release_requested()).await.unwrap();
    assert!(both.parts()[1].is_release_requested() && !both.parts()[0].is_release_requested());
    both.check().unwrap();
}

#[tokio::test]
async fn a_request_that_was_missed_is_told_again_until_the_hold_ends() {
    let scene = Scene::new();
    let tenure = scene.tenure();
    let guard = hold(&tenure, "lock").await;
    let raw = scene.raw().await;
    let node = &raw.list(&scene.path("lock")).await[0];
    raw.revoke(&format!("{}/{node}", scene.path("lock"))).await;
    timeout(PATIENCE, guard.release_requested()).await.unwrap();
    // It begins to listen only now.
    let mut late = tenure.store().evictions();
    for _ in 0..2 {
        let told = timeout(PATIENCE, late.next()).await.unwrap();
        assert!(matches!(told, Eviction::ReleaseRequested(_)), "{told:?}");
    }
    guard.release().await.unwrap();
    let next = hold(&tenure, "lock").await;
    until("its node is there", async || raw.list(&scene.path("lock")).await.len() == 1).await;
    assert!(!next.is_release_requested());
}
