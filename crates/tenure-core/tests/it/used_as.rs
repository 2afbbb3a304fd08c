//! What names are used as, as the store is told by each kind of lock.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    AcquireError, LockName, ManualClock, MemoryStore, Tenure,
    proto::queue::{Kind, Snapshot},
};

use crate::settle;

async fn seen(tenure: &Tenure, name: &str) -> Snapshot {
    tenure.store().inspect(&LockName::new(name).unwrap()).await.unwrap()
}

#[tokio::test]
async fn each_kind_of_lock_says_what_it_is() {
    let tenure = Tenure::new(Arc::new(MemoryStore::new()));
    let shows = async |kind| {
        let seen = seen(&tenure, "a").await;
        assert_eq!(seen.holders.iter().map(|one| one.kind).collect::<Vec<_>>(), [Some(kind)]);
    };
    let mutex = tenure.mutex("a").lock().await.unwrap();
    shows(Kind::Mutex).await;
    mutex.release().await.unwrap();
    let all = tenure.all(["a", "b"]).lock().await.unwrap();
    shows(Kind::Mutex).await;
    all.release().await.unwrap();
    let writer = tenure.rwlock("a").write().await.unwrap();
    shows(Kind::ReadWrite).await;
    let reader = writer.downgrade().await.unwrap();
    shows(Kind::ReadWrite).await;
    reader.release().await.unwrap();
    let permit = tenure.semaphore("a", 3).acquire().await.unwrap();
    shows(Kind::Semaphore).await;
    permit.release().await.unwrap();
    let term = tenure.election("a").campaign().await.unwrap();
    shows(Kind::Election).await;
    term.resign().await.unwrap();
    tenure.latch("a", 2).arrive("one").await.unwrap();
    shows(Kind::Latch).await;
}

#[tokio::test]
async fn each_kind_has_a_queue_of_its_own_in_the_process() {
    let tenure = Tenure::new(Arc::new(MemoryStore::with_clock(Arc::new(ManualClock::new()))));
    let mutex = tenure.mutex("a").lock().await.unwrap();
    let next = tokio::spawn({
        let tenure = tenure.clone();
        async move { tenure.mutex("a").lock().await }
    });
    let writer = tokio::spawn({
        let tenure = tenure.clone();
        async move { tenure.rwlock("a").write().await }
    });
    settle().await;
    // The store is asked, and knows of the writer alone: the other mutex waits in the process.
    let waiters = seen(&tenure, "a").await.waiters;
    assert_eq!(waiters.iter().map(|one| one.kind).collect::<Vec<_>>(), [Some(Kind::ReadWrite)]);
    drop(mutex);
    settle().await;
    let next = next.await.unwrap().unwrap();
    assert!(!writer.is_finished());
    next.release().await.unwrap();
    writer.await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn where_kinds_do_not_meet_the_second_one_is_told_which_it_is() {
    let tenure = Tenure::new(Arc::new(MemoryStore::new().kinds_apart()));
    let mutex = tenure.mutex("a").lock().await.unwrap();
    let refused = tenure.rwlock("a").write().wait(Duration::from_secs(1)).await.unwrap_err();
    assert!(matches!(refused, AcquireError::Misconfigured { .. }), "{refused:?}");
    let text = format!("{refused:#}");
    assert!(text.contains("\"a\"") && text.contains("mutex"), "{text}");
    assert!(tenure.rwlock("a").try_read().await.is_err());
    mutex.check().unwrap();
    mutex.release().await.unwrap();
    drop(tenure.rwlock("a").write().await.unwrap());
}
