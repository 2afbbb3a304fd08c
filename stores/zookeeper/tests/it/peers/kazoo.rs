//! Kazoo's other locks, and its nodes where tenure does not expect them.

use tenure_core::{
    AcquireError, DowngradeError, FaultKind,
    proto::queue::{Ask, Intent, Kind, Mode},
};

use super::{Library, NAME, Scene, acquired};
use crate::support::{PATIENCE, ask, hold, name, until};

fn refusal<T: std::fmt::Debug>(answer: Result<T, AcquireError>) -> String {
    match answer {
        Err(error @ AcquireError::Misconfigured(_)) => format!("{error:#}"),
        other => panic!("it is not refused: {other:?}"),
    }
}

/// How many hold the name, and how many wait.
async fn there_are(tenure: &tenure_core::Tenure, holders: usize, waiters: usize) {
    until(&format!("{holders} hold and {waiters} wait"), async || {
        let seen = tenure.store().inspect(&name(NAME)).await.unwrap();
        (seen.holders.len(), seen.waiters.len()) == (holders, waiters)
    })
    .await;
}

#[tokio::test]
async fn readers_of_both_sides_hold_together_and_writers_alone() {
    let scene = Scene::new();
    let tenure = scene.beside(Library::KazooRead);
    let (mut reader, mut writer) =
        (scene.theirs(Library::KazooRead), scene.theirs(Library::KazooWrite));
    reader.tell("hold").await;
    reader.says_held().await;
    let ours = tenure.rwlock(NAME).read().wait(PATIENCE).await.unwrap();
    there_are(&tenure, 2, 0).await;
    assert!(tenure.rwlock(NAME).try_write().await.unwrap().is_none());
    assert!(tenure.mutex(NAME).try_lock().await.unwrap().is_none());
    writer.tell("hold").await;
    there_are(&tenure, 2, 1).await;
    reader.tell("release").await;
    reader.says("released").await;
    there_are(&tenure, 1, 1).await;
    // One who comes behind the writer waits for it.
    assert!(tenure.rwlock(NAME).try_read().await.unwrap().is_none());
    ours.check().unwrap();
    ours.release().await.unwrap();
    writer.says_held().await;
    assert!(tenure.rwlock(NAME).try_read().await.unwrap().is_none());
    let reads = tokio::spawn(tenure.rwlock(NAME).read().wait(PATIENCE).into_future());
    there_are(&tenure, 1, 1).await;
    writer.tell("release").await;
    writer.says("released").await;
    acquired(async { reads.await.unwrap() }).await;
}

/// A `Lock` of kazoo does not wait for readers, and would hold beside them.
#[tokio::test]
async fn there_are_readers_only_where_all_of_kazoo_waits_for_them() {
    let scene = Scene::new();
    let (tenure, mut peer) = (scene.beside(Library::KazooLock), scene.theirs(Library::KazooLock));
    assert!(!tenure.store().capabilities().shared);
    let ask = Ask { kind: Kind::ReadWrite, mode: Mode::Shared, ..ask(1, Intent::Try) };
    let refused = tenure.store().acquire(&name(NAME), &ask).await.unwrap_err();
    assert_eq!(refused.kind(), FaultKind::Unsupported);
    let (writes, rwlock) = (tenure.rwlock(NAME).write().await.unwrap(), tenure.rwlock(NAME));
    let Err(DowngradeError::StillWriting { guard, failure }) = writes.downgrade().await else {
        panic!("it became a reader");
    };
    for said in [
        refused.to_string(),
        format!("{refused:#}"),
        format!("{:#}", failure.fault),
        refusal(rwlock.try_read().await),
        refusal(rwlock.read().wait(PATIENCE).await),
    ] {
        assert!(said.contains("do not wait for them"), "{said}");
    }
    assert!(refused.help().contains("readers=yes") && refused.help().contains("WriteLock"));
    peer.tell("hold").await;
    there_are(&tenure, 1, 1).await;
    guard.check().unwrap();
    guard.release().await.unwrap();
    peer.says_held().await;
    // A reader of kazoo's is waited for at any rate.
    peer.tell("release").await;
    peer.says("released").await;
    let mut reader = scene.theirs(Library::KazooRead);
    reader.tell("hold").await;
    reader.says_held().await;
    assert!(tenure.rwlock(NAME).try_write().await.unwrap().is_none());
    assert!(tenure.mutex(NAME).try_lock().await.unwrap().is_none());
    reader.tell("release").await;
    reader.says("released").await;
    hold(&tenure, NAME).await.release().await.unwrap();
}

/// Its node gets the number of its writer's, so a writer of kazoo's that waits goes on waiting.
#[tokio::test]
async fn a_waiting_writer_of_kazoo_stays_out_while_our_downgraded_reader_holds() {
    let scene = Scene::new();
    let tenure = scene.beside(Library::KazooWrite);
    let writing = tenure.rwlock(NAME).write().wait(PATIENCE).await.unwrap();
    let (mut reader, mut writer) =
        (scene.theirs(Library::KazooRead), scene.theirs(Library::KazooWrite));
    reader.tell("hold").await;
    there_are(&tenure, 1, 1).await;
    writer.tell("hold").await;
    there_are(&tenure, 1, 2).await;
    let token = writing.token();
    let reading = writing.downgrade().await.unwrap();
    assert_eq!(reading.token(), token);
    reader.says_held().await;
    there_are(&tenure, 2, 1).await;
    reader.tell("release").await;
    reader.says("released").await;
    there_are(&tenure, 1, 1).await;
    reading.check().unwrap();
    reading.release().await.unwrap();
    writer.says_held().await;
}

/// Kazoo's `Election` is a `Lock`.
#[tokio::test]
async fn an_election_waits_for_a_lock_of_kazoo() {
    let scene = Scene::new();
    let (tenure, mut peer) = (scene.beside(Library::KazooLock), scene.theirs(Library::KazooLock));
    peer.tell("hold").await;
    peer.says_held().await;
    assert!(tenure.election(NAME).try_campaign().await.unwrap().is_none());
    peer.tell("release").await;
    peer.says("released").await;
    let leads = tenure.election(NAME).campaign().wait(PATIENCE).await.unwrap();
    peer.tell("hold").await;
    there_are(&tenure, 1, 1).await;
    leads.resign().await.unwrap();
    peer.says_held().await;
}

/// Whether it heeds ours does not show in its nodes, and Curator never waits for them.
#[tokio::test]
async fn a_lock_of_kazoo_is_refused_among_nodes_of_curator_with_what_helps() {
    for library in [Library::KazooLock, Library::KazooPatterns, Library::KazooRead] {
        let scene = Scene::new();
        let (tenure, mut peer) = (scene.ours_with(""), scene.theirs(library));
        peer.tell("hold").await;
        peer.says_held().await;
        let said = refusal(tenure.mutex(NAME).try_lock().await);
        for says in ["layout=kazoo", "extra_lock_patterns", "_NODE_NAME", "a node of kazoo"] {
            assert!(said.contains(says), "{said}");
        }
        peer.tell("release").await;
        peer.says("released").await;
        hold(&tenure, NAME).await.release().await.unwrap();
    }
}

#[tokio::test]
async fn the_layouts_refuse_each_other() {
    let scene = Scene::new();
    let layouts = ["", "&layout=kazoo"].map(|settings| scene.ours_with(settings));
    for (one, other) in [(0, 1), (1, 0)].map(|(one, other)| (&layouts[one], &layouts[other])) {
        let guard = hold(one, NAME).await;
        let said = refusal(other.mutex(NAME).try_lock().await);
        assert!(said.contains("layout=kazoo"), "{said}");
        refusal(other.rwlock(NAME).write().wait(PATIENCE).await);
        guard.check().unwrap();
        guard.release().await.unwrap();
        hold(other, NAME).await.release().await.unwrap();
    }
    // As go-zookeeper does, of which kazoo knows nothing.
    let mut peer = scene.theirs(Library::GoZookeeper);
    peer.tell("hold").await;
    peer.says_held().await;
    let said = refusal(layouts[1].mutex(NAME).try_lock().await);
    assert!(said.contains("go-zookeeper"), "{said}");
    let said = format!("{:#}", layouts[1].semaphore("permits", 2).acquire().await.unwrap_err());
    assert!(said.contains("layout=kazoo"), "{said}");
}
