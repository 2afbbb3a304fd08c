//! Processes of both sides, and a number that nothing else protects.

use std::fs;

use tempfile::tempdir;

use crate::support::PATIENCE;

use super::{
    child,
    program::Curator,
    scene::{Scene, turns},
};

/// Two JVMs and two processes of ours count under one lock.
async fn counts(curator: Curator, recipe: &str, kind: &str, setting: &str, turns: u32) {
    let (scene, folder) = (Scene::new(), tempdir().unwrap());
    let (file, url, path) =
        (folder.path().join("number"), scene.url_with(setting), scene.path("lock"));
    fs::write(&file, "0").unwrap();
    let (place, many) = (file.to_str().unwrap(), turns.to_string());
    let peer = || scene.peer(curator, &["count", recipe, &path, place, &many]);
    let mut peers = [peer(), peer()];
    let ours = || child::start(&["count", kind, &url, place, &many]);
    let mut ours = [ours(), ours()];
    // Readers of both sides, where there are any.
    let (mut reader, mut our_reader) = (None, None);
    if kind == "write" {
        reader = Some(scene.peer(curator, &["read", &path, place, &many]));
        our_reader = Some(child::start(&["read", &url, place, &many]));
    }
    for process in ours.iter_mut().chain(&mut our_reader) {
        assert_eq!(process.says().as_deref(), Some("done"));
    }
    for peer in peers.iter_mut().chain(&mut reader) {
        // A reader says what it saw change.
        assert_eq!(peer.says_until_done(PATIENCE * 5).await, [""; 0]);
    }
    assert_eq!(fs::read_to_string(file).unwrap(), (4 * turns).to_string());
    assert_eq!(scene.raw().await.contenders(&path).await, 0);
}

#[tokio::test]
async fn no_increment_is_lost_under_a_mutex() {
    counts(Curator::Five, "mutex", "mutex", "", turns(50)).await;
}

#[tokio::test]
async fn no_increment_is_lost_under_a_mutex_of_curator_4() {
    counts(Curator::Four, "mutex", "mutex", "", turns(15)).await;
}

#[tokio::test]
async fn no_increment_is_lost_and_no_read_torn_under_a_read_write_lock() {
    counts(Curator::Five, "write", "write", "", turns(50)).await;
}

#[tokio::test]
async fn no_increment_is_lost_and_no_read_torn_under_a_read_write_lock_of_curator_4() {
    counts(Curator::Four, "write", "write", "", turns(15)).await;
}

#[tokio::test]
async fn no_increment_is_lost_under_a_mutex_that_is_a_semaphore() {
    counts(Curator::Five, "semaphore-mutex", "mutex", "&mutex=semaphore", turns(50)).await;
}

#[tokio::test]
async fn no_increment_is_lost_under_a_mutex_that_is_a_semaphore_of_curator_4() {
    counts(Curator::Four, "semaphore-mutex", "mutex", "&mutex=semaphore", turns(15)).await;
}

/// Two JVMs, and two processes of ours with two tasks each, want three permits.
async fn takes_permits(curator: Curator, turns: u32) {
    let (scene, folder) = (Scene::new(), tempdir().unwrap());
    let (url, path) = (scene.url(), scene.path("lock"));
    let (place, many) = (folder.path().to_str().unwrap(), turns.to_string());
    let peer = || scene.peer(curator, &["permits", &path, "3", place, &many]);
    let mut peers = [peer(), peer()];
    let ours = || child::start(&["permits", &url, "3", place, &many]);
    let mut ours = [ours(), ours()];
    for process in &mut ours {
        assert_eq!(process.says().as_deref(), Some("done"));
    }
    for peer in &mut peers {
        assert_eq!(peer.says_until_done(PATIENCE * 5).await, [""; 0]);
    }
    assert_eq!(scene.raw().await.contenders(&path).await, 0);
}

#[tokio::test]
async fn three_permits_are_never_four() {
    takes_permits(Curator::Five, turns(50)).await;
}

#[tokio::test]
async fn three_permits_are_never_four_with_curator_4() {
    takes_permits(Curator::Four, turns(15)).await;
}
