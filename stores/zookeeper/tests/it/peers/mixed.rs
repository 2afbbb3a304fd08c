//! Four languages on one lock.

use std::fs;

use tempfile::tempdir;

use super::{Library, Scene, TURNS, count};
use crate::{
    curator::jvm,
    support::{PATIENCE, quiet_server},
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
