//! A writer that becomes a reader, beside those of the other side that wait. In Curator it was that a waiting
//! writer got in while the reader still held: CURATOR-276 and CURATOR-621, which 5.5.0 mended.

use std::time::Duration;

use tenure_core::{DowngradeError, Guard, LostReason};
use tenure_testkit::fault::Weather;

use crate::support::{quiet_server, until};

use super::{
    bugs::{UNANSWERED, behind_a_proxy},
    program::Curator,
    scene::{Scene, until_there_are, until_watched},
};

/// Our writer becomes a reader. Before it stand a reader, a writer and a reader of Curator's.
async fn our_downgrade(curator: Curator) {
    let scene = Scene::new();
    let tenure = scene.tenure();
    let writing = tenure.rwlock("lock").write().await.unwrap();
    let token = writing.token();
    let mut first_reader = scene.hold(curator, "read", "lock");
    until_there_are(&tenure, "lock", 1, 1).await;
    let mut writer = scene.hold(curator, "write", "lock");
    until_there_are(&tenure, "lock", 1, 2).await;
    let mut last_reader = scene.hold(curator, "read", "lock");
    until_there_are(&tenure, "lock", 1, 3).await;
    let nodes = scene.raw().await.list(&scene.path("lock")).await;

    let reading: Guard = writing.downgrade().await.unwrap();
    assert_eq!(reading.token(), token);
    // Who stands before the waiting writer comes in with it.
    let first = first_reader.says_held().await;
    assert!(first.node.ends_with(&nodes[1]));
    until_there_are(&tenure, "lock", 2, 2).await;
    // Those behind have looked again, and wait: the reader for the writer, the writer for the reader before it.
    let path = |name: &String| format!("{}/{name}", scene.path("lock"));
    until_watched(quiet_server(), &first.node, 1).await;
    until_watched(quiet_server(), &path(&nodes[2]), 1).await;
    assert_eq!(first_reader.asked("release").await, "released");
    // Now the writer waits for ours, which is watched over by ourselves, too.
    let ours = &scene.raw().await.list(&scene.path("lock")).await[0];
    assert!(ours.contains("__READ__"), "{ours}");
    until_watched(quiet_server(), &path(ours), 2).await;
    assert!(writer.is_silent() && last_reader.is_silent());
    reading.check().unwrap();

    reading.release().await.unwrap();
    let written = writer.says_held().await;
    assert!(written.czxid > token.time());
    assert!(last_reader.is_silent());
    assert_eq!(writer.asked("release").await, "released");
    last_reader.says_held().await;
}

#[tokio::test]
async fn a_waiting_writer_of_curator_stays_out_while_our_downgraded_reader_holds() {
    our_downgrade(Curator::Five).await;
}

#[tokio::test]
async fn a_waiting_writer_of_curator_4_stays_out_while_our_downgraded_reader_holds() {
    our_downgrade(Curator::Four).await;
}

#[tokio::test]
async fn our_waiting_writer_stays_out_while_a_downgraded_reader_of_curator_holds() {
    let scene = Scene::new();
    let tenure = scene.tenure();
    let mut peer = scene.hold(Curator::Five, "write", "lock");
    let held = peer.says_held().await;
    let lock = tenure.rwlock("lock");
    let writes = tokio::spawn(async move { lock.write().await });
    until_there_are(&tenure, "lock", 1, 1).await;
    let told = peer.asked("downgrade").await;
    let node = told.strip_prefix("downgraded ").unwrap();
    assert!(node.contains("__READ__"), "{node}");
    // We have looked again, and wait for the reader.
    until_watched(quiet_server(), node, 1).await;
    until_there_are(&tenure, "lock", 1, 1).await;
    assert!(!writes.is_finished());
    assert!(tenure.rwlock("lock").try_read().await.unwrap().is_none());
    assert_eq!(peer.asked("release").await, "released");
    let writing = writes.await.unwrap().unwrap();
    assert!(writing.token().time() > held.czxid);
}

/// This is Curator's error, not ours: before 5.5.0 what it reads by after a downgrade stands behind all who wait,
/// so the first of them comes in, of whatever library. `docs/stores/zookeeper.md` warns of it.
#[tokio::test]
async fn a_downgrade_of_curator_4_lets_a_waiting_writer_in_while_it_reads() {
    let scene = Scene::new();
    let tenure = scene.tenure();
    let mut peer = scene.hold(Curator::Four, "write", "lock");
    peer.says_held().await;
    let lock = tenure.rwlock("lock");
    let writes = tokio::spawn(async move { lock.write().await });
    until_there_are(&tenure, "lock", 1, 1).await;
    let told = peer.asked("downgrade").await;
    let node = told.strip_prefix("downgraded ").unwrap();
    let writing = writes.await.unwrap().unwrap();
    // It believes that it reads, but its node says that it waits.
    until_there_are(&tenure, "lock", 1, 1).await;
    let nodes = scene.raw().await.list(&scene.path("lock")).await;
    assert!(node.ends_with(&nodes[1]) && nodes[0].contains("__WRIT__"), "{nodes:?}");
    writing.check().unwrap();
}

/// A downgrade and a renewal may pass each other on their way.
#[tokio::test]
async fn a_downgrade_beside_renewals_is_no_loss() {
    let scene = Scene::new();
    let tenure = scene.tenure();
    // Renewed every 20 ms.
    let lock = tenure.rwlock("lock").ttl(Duration::from_millis(60));
    for turn in 0..100 {
        // A slow machine is too slow for such a short lease.
        let Ok(writing) = lock.write().await else { continue };
        tokio::time::sleep(Duration::from_millis(18 + turn % 4)).await;
        match writing.downgrade().await {
            Ok(reading) => {
                let _ = reading.release().await;
            }
            Err(DowngradeError::Lost(lost)) => assert_ne!(lost.reason, LostReason::Taken, "{turn}"),
            Err(_) => {}
        }
    }
}

#[tokio::test]
async fn a_downgrade_without_an_answer_leaves_no_reader_behind() {
    let (proxy, scene, beside) = behind_a_proxy(quiet_server());
    let scene = scene.with_session(Duration::from_secs(10));
    let (tenure, raw) = (scene.tenure(), beside.raw().await);
    // By its session is seen that it is not by its end that nodes go.
    let other = tenure.mutex("other").ttl(Duration::from_secs(60)).lock().await.unwrap();
    let writing = tenure.rwlock("lock").ttl(Duration::from_secs(60)).write().await.unwrap();
    proxy.set(UNANSWERED);
    assert!(writing.downgrade().await.is_err());
    let nodes = raw.list(&scene.path("lock")).await;
    assert!(nodes[0].contains("__READ__"), "{nodes:?}");
    proxy.set(Weather::default());
    proxy.cut();
    until("the reader is gone", async || raw.contenders(&scene.path("lock")).await == 0).await;
    assert_eq!(raw.look(&scene.path("other")).await[0].czxid, other.token().time());
}
