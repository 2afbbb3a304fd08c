//! Four languages on one lock, and two libraries that do not share one.

use std::fs;

use tempfile::tempdir;

use super::{Library, NAME, Scene, TURNS, count};
use crate::{
    curator::jvm,
    fenced::Fenced,
    support::{PATIENCE, hold, name, quiet_server},
};

#[tokio::test(flavor = "multi_thread")]
async fn java_python_go_and_rust_lose_no_increment() {
    let (scene, folder) = (Scene::new(), tempdir().unwrap());
    let file = folder.path().join("counter");
    fs::write(&file, "0").unwrap();
    let mut peers = [Library::KazooCurator, Library::GoZookeeper].map(|each| scene.theirs(each));
    for peer in &mut peers {
        peer.tell(&format!("count {TURNS} {}", file.display())).await;
    }
    let (turns, counter) = (TURNS.to_string(), file.display().to_string());
    let command = ["count", "mutex", &scene.path(), &counter, &turns];
    let mut java = jvm(&quiet_server().address().to_string(), super::SESSION, &command);
    count(scene.ours_with(""), &file).await;
    assert!(java.says_until_done(PATIENCE * 2).await.is_empty());
    for peer in &mut peers {
        peer.says("done").await;
    }
    assert_eq!(fs::read_to_string(file).unwrap().trim(), (4 * TURNS).to_string());
}

/// This is why a name with both is refused: Curator sorts what follows `lock-`, and kazoo's names have none.
#[tokio::test]
async fn curator_does_not_wait_for_a_lock_of_kazoo_which_waits_with_patterns_alone() {
    let scene = Scene::new();
    let mut kazoo = scene.theirs(Library::KazooPatterns);
    kazoo.tell("hold").await;
    kazoo.says_held().await;
    let server = quiet_server().address().to_string();
    let mut java = jvm(&server, super::SESSION, &["hold", "mutex", &scene.path()]);
    java.says_held().await;
    let tenure = scene.ours_with("");
    tenure.mutex(NAME).try_lock().await.unwrap_err();
    kazoo.tell("release").await;
    kazoo.says("released").await;
    // The other way round it does.
    kazoo.tell("hold").await;
    crate::support::until("it waits", async || {
        let seen = tenure.store().inspect(&name(NAME)).await.unwrap();
        seen.holders.len() == 2
    })
    .await;
    assert_eq!(java.asked("release").await, "released");
    kazoo.says_held().await;
    kazoo.tell("release").await;
    kazoo.says("released").await;
    hold(&tenure, NAME).await.release().await.unwrap();
}

/// With shifted tokens the resource would refuse Java's for ever.
#[tokio::test]
async fn a_resource_that_compares_czxids_refuses_the_late_holder_of_either_side_alone() {
    let (scene, folder) = (Scene::new(), tempdir().unwrap());
    let resource = Fenced::create(&folder.path().join("counter"));
    let tenure = scene.ours_with("&tokens=czxid");
    let server = quiet_server().address().to_string();
    let command = ["hold", "mutex", &scene.path()];
    let mut late = Vec::new();
    for turn in 0..2 {
        let guard = hold(&tenure, NAME).await;
        let ours = guard.token().get();
        assert_eq!(resource.open(ours), Some(2 * turn));
        assert!(resource.write(ours, 2 * turn + 1));
        guard.release().await.unwrap();
        let mut java = jvm(&server, super::SESSION, &command);
        let theirs = java.says_held().await.czxid;
        assert_eq!(resource.open(theirs), Some(2 * turn + 1));
        assert!(resource.write(theirs, 2 * turn + 2));
        assert_eq!(java.asked("release").await, "released");
        late.extend([ours, theirs]);
    }
    late.pop();
    assert!(late.iter().all(|token| resource.open(*token).is_none() && !resource.write(*token, 0)));
}
