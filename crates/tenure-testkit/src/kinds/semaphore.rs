//! The semaphore.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use super::{
    Kind,
    scene::{NAME, PATIENCE, SHORT, Scene},
};

/// The kind, which needs permits.
pub const KIND: Kind = Kind {
    name: "semaphore",
    lacks: |can| (!can.permits).then_some("the store has no permits"),
    attempt: |tenure| {
        let acquire = tenure.semaphore(NAME, 1).acquire();
        Box::pin(async move { acquire.await.err().map(|error| format!("{error:#}")) })
    },
};

/// S1: never more are out than there are.
pub async fn never_more_than_there_are(scene: Scene) {
    let processes: [_; 3] = scene.processes().await;
    let out = Arc::new(AtomicU32::new(0));
    let mut tasks = Vec::new();
    for task in 0..9 {
        let semaphore = processes[task % 3].semaphore(NAME, 3);
        let out = out.clone();
        tasks.push(tokio::spawn(async move {
            for _ in 0..4 {
                let permit = semaphore.acquire().wait(PATIENCE).await.unwrap();
                assert!(out.fetch_add(1, Ordering::SeqCst) < 3, "more than there are");
                permit.check().unwrap();
                tokio::task::yield_now().await;
                out.fetch_sub(1, Ordering::SeqCst);
                permit.release().await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

/// S1: an ask for several gets them together.
pub async fn many_are_taken_at_once_or_none(scene: Scene) {
    let [one, other] = scene.processes().await;
    let (one, other) = (one.semaphore(NAME, 3), other.semaphore(NAME, 3));
    let two = one.acquire_many(2).await.unwrap();
    assert!(other.try_acquire_many(2).await.unwrap().is_none());
    let last = other.try_acquire().await.unwrap().unwrap();
    assert!(one.try_acquire().await.unwrap().is_none());
    two.release().await.unwrap();
    other.acquire_many(2).wait(PATIENCE).await.unwrap().check().unwrap();
    drop(last);
    assert!(one.try_acquire_many(4).await.is_err(), "more than there are");
}

/// S5: what a dead holder took ends by itself.
pub async fn permits_of_the_dead_come_back(scene: Scene) {
    let [one, other] = scene.processes().await;
    let dead = one.semaphore(NAME, 3).ttl(SHORT).acquire_many(3).await.unwrap();
    let _ = dead.leave_to_expire();
    other.semaphore(NAME, 3).acquire_many(3).wait(PATIENCE).await.unwrap().check().unwrap();
}

/// The number is the asking one's own.
pub async fn the_number_can_change_while_it_is_used(scene: Scene) {
    let [one, other] = scene.processes().await;
    let first = one.semaphore(NAME, 1).acquire().await.unwrap();
    assert!(other.semaphore(NAME, 1).try_acquire().await.unwrap().is_none());
    let second = other.semaphore(NAME, 2).try_acquire().await.unwrap().unwrap();
    first.release().await.unwrap();
    assert!(one.semaphore(NAME, 1).try_acquire().await.unwrap().is_none());
    second.release().await.unwrap();
    one.semaphore(NAME, 1).acquire().wait(PATIENCE).await.unwrap().check().unwrap();
}

/// What is not taken is shown by the number of who looks, and who has taken it.
pub async fn a_look_shows_what_is_available_and_who_has_the_rest(scene: Scene) {
    let [one, other] = scene.processes().await;
    let (three, five) = (other.semaphore(NAME, 3), other.semaphore(NAME, 5));
    assert_eq!(three.available().await.unwrap(), 3);
    let two = one.semaphore(NAME, 3).label("one").acquire_many(2).await.unwrap();
    assert_eq!(three.available().await.unwrap(), 1);
    assert_eq!(five.available().await.unwrap(), 3);
    assert_eq!(one.semaphore(NAME, 1).available().await.unwrap(), 0);
    let seen = three.inspect().await.unwrap();
    let [holder] = &seen.holders[..] else { panic!("{seen:?}") };
    assert_eq!((holder.label.as_str(), holder.token), ("one", Some(two.token())));
    two.release().await.unwrap();
    assert_eq!(three.available().await.unwrap(), 3);
}
