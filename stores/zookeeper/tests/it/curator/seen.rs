//! What Curator's clients hold, as our users see it, and as they take it away.

use tenure_core::{
    LockName,
    proto::queue::{Kind, Mode},
};

use crate::support::PATIENCE;

use super::{
    program::Curator,
    scene::{Scene, inspected, until_there_are},
};

#[tokio::test]
async fn holders_of_curator_are_inspected_listed_and_evicted() {
    let scene = Scene::new();
    let tenure = scene.tenure();
    let store = tenure.store();
    let mut mutex = scene.hold(Curator::Five, "mutex", "a-mutex");
    let held = mutex.says_held().await;
    let mut permit = scene.peer(Curator::Five, &["hold", "semaphore", &scene.path("permits"), "2"]);
    let taken = permit.says_held().await;
    let mut waits = scene.hold(Curator::Four, "mutex", "a-mutex");
    until_there_are(&tenure, "a-mutex", 1, 1).await;

    // Curator writes the address of its machine.
    let address = mutex.asked("data").await.replace("data ", "");
    let seen = inspected(&**store, "a-mutex").await;
    let holder = &seen.holders[0];
    assert_eq!((holder.label.as_str(), holder.kind), (address.as_str(), Some(Kind::Mutex)));
    assert_eq!((holder.token.unwrap().time(), holder.mode), (held.czxid, Mode::Exclusive));
    assert!(holder.since.is_some());
    assert_eq!(seen.waiters[0].label, address);
    let seen = inspected(&**store, "permits").await;
    let holder = &seen.holders[0];
    assert_eq!((holder.label.as_str(), holder.kind), (address.as_str(), Some(Kind::Semaphore)));
    assert_eq!(holder.token.unwrap().time(), taken.czxid);
    assert!(matches!(holder.mode, Mode::Permits { take: 1, .. }));
    let listed = store.list("", 10).await.unwrap().names;
    let names: Vec<_> = listed.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a-mutex", "permits"]);

    let evicted = store.evict(&LockName::new("a-mutex").unwrap()).await.unwrap();
    assert_eq!(evicted.len(), 1);
    assert_eq!(evicted[0].token.unwrap().time(), held.czxid);
    assert!(waits.says_held().await.czxid > held.czxid);
    store.evict(&LockName::new("permits").unwrap()).await.unwrap();
    let both = tenure.semaphore("permits", 2).acquire_many(2).wait(PATIENCE).await.unwrap();
    both.check().unwrap();
}
