//! The multi-lock.

use tenure_core::{All, LostReason};

use super::{
    Kind,
    scene::{NAME, PATIENCE, RENEWED, Scene, name},
};

/// Names that sort before and behind the one that every case uses.
const BOTH: [&str; 3] = ["zebra", NAME, "antelope"];

/// The kind, which every store has: it is made of mutexes.
pub const KIND: Kind = Kind {
    name: "all",
    lacks: |_| None,
    attempt: |tenure| {
        let lock = tenure.all(BOTH).lock();
        Box::pin(async move { lock.await.err().map(|error| format!("{error:#}")) })
    },
};

/// S1: all are held or none.
pub async fn all_are_held_or_none(scene: Scene) {
    let [one, other] = scene.processes().await;
    let guard = other.mutex(NAME).lock().await.unwrap();
    assert!(one.all(BOTH).try_lock().await.unwrap().is_none());
    for free in ["zebra", "antelope"] {
        other.mutex(free).lock().wait(PATIENCE).await.unwrap().release().await.unwrap();
    }
    guard.release().await.unwrap();
    let all = one.all(BOTH).lock().wait(PATIENCE).await.unwrap();
    for taken in BOTH {
        assert!(other.mutex(taken).try_lock().await.unwrap().is_none(), "{taken}");
    }
    assert_eq!(all.tokens().count(), 3);
    all.release().await.unwrap();
    for free in BOTH {
        other.mutex(free).lock().wait(PATIENCE).await.unwrap().release().await.unwrap();
    }
}

/// Whatever order they are named in, nobody waits for ever.
pub async fn orders_that_cross_do_not_block_each_other(scene: Scene) {
    let processes: [_; 2] = scene.processes().await;
    let mut tasks = Vec::new();
    for (tenure, names) in processes.iter().zip([["a", "b"], ["b", "a"]]) {
        let all = tenure.all(names);
        tasks.push(tokio::spawn(async move {
            for _ in 0..5 {
                all.lock().wait(PATIENCE).await.unwrap().release().await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

/// S3: the whole is lost as soon as one part is.
pub async fn one_lost_part_loses_the_whole(scene: Scene) {
    let [one, other] = scene.processes().await;
    let parts = BOTH.map(|part| one.mutex(part).ttl(RENEWED));
    let all = All::of(parts).lock().await.unwrap();
    other.store().evict(&name()).await.unwrap();
    let lost = tokio::time::timeout(PATIENCE, all.lost()).await.unwrap();
    assert_eq!((lost.lock.name.as_str(), lost.reason), (NAME, LostReason::Taken));
    assert!(all.check().is_err());
    assert!(all.release().await.is_err(), "it says which part was lost");
    for free in BOTH {
        other.mutex(free).lock().wait(PATIENCE).await.unwrap().release().await.unwrap();
    }
}
