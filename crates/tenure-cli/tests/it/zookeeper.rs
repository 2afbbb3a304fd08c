//! What is said of a lock that belongs to a session.

use tenure_testkit::server::ZookeeperServer;

use crate::{
    process::code,
    scene::{Scene, text},
};

#[test]
fn a_release_after_a_loss_is_said_to_come_with_the_end_of_the_session() {
    let server = ZookeeperServer::start();
    let scene = Scene::with_store(&format!("{}/locks?session=9s&tick=500ms", server.url()));
    let running = scene.start("lock", "echo > held; exec sleep 1000");
    scene.line("held");
    let frozen = server.freeze();
    let output = running.wait();
    drop(frozen);
    assert_eq!(code(&output), 123);
    let said = text(&output.stderr);
    let (lost, released) = said.split_once("lock may stay taken for a while: ").unwrap();
    assert!(lost.contains("lost: lock could not be renewed in time"), "{said}");
    assert!(released.contains("free when the session of this process ends"), "{said}");
    // It was lost, so no later answer releases it.
    assert!(!said.contains("lease ends") && !said.contains("when the store answers"), "{said}");
}
