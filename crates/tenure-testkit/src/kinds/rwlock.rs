//! The read-write lock.

use tenure_core::proto::queue::Mode;

use super::{
    Kind,
    scene::{NAME, PATIENCE, SHORT, Scene, keeps_order, queue, until},
};

/// The kind, which needs shared holds.
pub const KIND: Kind = Kind {
    name: "rwlock",
    lacks: |can| (!can.shared).then_some("the store has no shared holds"),
    attempt: |tenure| {
        let read = tenure.rwlock(NAME).read();
        Box::pin(async move { read.await.err().map(|error| format!("{error:#}")) })
    },
};

/// S1: readers together, a writer alone.
pub async fn readers_share_and_a_writer_excludes(scene: Scene) {
    let [one, other] = scene.processes().await;
    let reading = one.rwlock(NAME).read().await.unwrap();
    let also = other.rwlock(NAME).try_read().await.unwrap().unwrap();
    assert!(other.rwlock(NAME).try_write().await.unwrap().is_none());
    reading.release().await.unwrap();
    assert!(one.rwlock(NAME).try_write().await.unwrap().is_none());
    also.release().await.unwrap();
    let writing = one.rwlock(NAME).write().wait(PATIENCE).await.unwrap();
    assert!(other.rwlock(NAME).try_read().await.unwrap().is_none());
    assert!(other.rwlock(NAME).try_write().await.unwrap().is_none());
    writing.check().unwrap();
}

/// S8: readers that ask after a writer come after it.
pub async fn a_writer_that_waits_is_not_starved(scene: Scene) {
    let [one, other] = scene.processes().await;
    if !keeps_order(&one) {
        return;
    }
    let reading = one.rwlock(NAME).read().await.unwrap();
    let writer = queue(&other, other.rwlock(NAME).write().wait(PATIENCE), 1).await;
    assert!(one.rwlock(NAME).try_read().await.unwrap().is_none());
    let late = queue(&other, one.rwlock(NAME).read().wait(PATIENCE), 2).await;
    reading.release().await.unwrap();
    let writing = writer.await.unwrap().unwrap();
    assert!(!late.is_finished());
    drop(writing);
    late.await.unwrap().unwrap().check().unwrap();
}

/// S2, S4: a downgrade changes neither lease nor token, and readers enter at once.
pub async fn a_downgrade_keeps_the_token_and_lets_readers_in(scene: Scene) {
    let [one, other] = scene.processes().await;
    let writing = one.rwlock(NAME).write().await.unwrap();
    let token = writing.token();
    let reader = tokio::spawn(other.rwlock(NAME).read().wait(PATIENCE).into_future());
    let reading = writing.downgrade().await.unwrap();
    assert_eq!(reading.check().unwrap(), token);
    reader.await.unwrap().unwrap().check().unwrap();
    assert!(other.rwlock(NAME).try_write().await.unwrap().is_none());
}

/// S4, S5: each hold has its own lease.
pub async fn a_dead_reader_frees_only_itself(scene: Scene) {
    let [one, other, third] = scene.processes().await;
    let _ = one.rwlock(NAME).ttl(SHORT).read().await.unwrap().leave_to_expire();
    let living = other.rwlock(NAME).read().await.unwrap();
    until("the dead one is gone", async || {
        let seen = third.store().inspect(living.name()).await;
        seen.is_ok_and(|seen| seen.holders.len() == 1)
    })
    .await;
    assert!(third.rwlock(NAME).try_write().await.unwrap().is_none());
    living.check().unwrap();
    living.release().await.unwrap();
    third.rwlock(NAME).write().wait(PATIENCE).await.unwrap().check().unwrap();
}

/// S2: a reader stands between the writers before and after it.
pub async fn tokens_of_readers_lie_between_those_of_writers(scene: Scene) {
    let [one, other] = scene.processes().await;
    let before = one.rwlock(NAME).write().await.unwrap();
    let first = before.token();
    before.release().await.unwrap();
    let reading = other.rwlock(NAME).read().wait(PATIENCE).await.unwrap();
    let second = reading.token();
    reading.release().await.unwrap();
    let after = one.rwlock(NAME).write().wait(PATIENCE).await.unwrap();
    assert!(first < second && second < after.token());
}

/// A look shows all readers, and the writer that waits for them.
pub async fn a_look_shows_readers_and_the_writer_that_waits(scene: Scene) {
    let [one, other] = scene.processes().await;
    let reading = one.rwlock(NAME).read().await.unwrap();
    let also = other.rwlock(NAME).read().await.unwrap();
    let seen = other.rwlock(NAME).inspect().await.unwrap();
    assert_eq!(seen.holders.len(), 2, "{seen:?}");
    assert!(seen.holders.iter().all(|holder| holder.mode == Mode::Shared), "{seen:?}");
    if keeps_order(&other) {
        let writer = queue(&other, other.rwlock(NAME).write().wait(PATIENCE), 1).await;
        let seen = one.rwlock(NAME).inspect().await.unwrap();
        assert_eq!((seen.holders.len(), seen.waiters[0].mode), (2, Mode::Exclusive));
        drop((reading, also));
        writer.await.unwrap().unwrap().release().await.unwrap();
    }
}
