//! Curator's `Revoker` asks us to let go.

use tenure_core::{Guard, LostReason};

use crate::support::{PATIENCE, quiet_server};

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
    let lost = tokio::time::timeout(PATIENCE, guard.lost()).await.unwrap();
    assert_eq!(lost.reason, LostReason::Taken);
    assert!(guard.check().is_err());
    assert!(waits.says_held().await.czxid > guard.token().time());
}

#[tokio::test]
async fn a_holder_that_does_not_comply_keeps_its_lock() {
    let scene = Scene::new();
    let (guard, node) = held(&scene, "").await;
    scene.peer(Curator::Four, &["revoke", &node]).says_this("done").await;
    // That it was asked took its watch away, so it has looked.
    until_watched(quiet_server(), &node, 1).await;
    guard.check().unwrap();
    assert!(scene.tenure().mutex("lock").try_lock().await.unwrap().is_none());
    guard.release().await.unwrap();
}
