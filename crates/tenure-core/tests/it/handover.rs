//! Hand-over between the tasks of one process.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tenure_core::{AcquireError, MemoryStore, Tenure};
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread")]
async fn tasks_of_several_tenures_lose_no_increment_and_tokens_rise() {
    let store = MemoryStore::new();
    let counter = Arc::new(AtomicU64::new(0));
    let last = Arc::new(AtomicU64::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..4 {
        let tenure = Tenure::new(Arc::new(store.clone()));
        for _ in 0..16 {
            let (mutex, counter, last) = (tenure.mutex("n"), counter.clone(), last.clone());
            tasks.spawn(async move {
                for round in 0..50 {
                    let mutex = if round % 10 == 0 { mutex.clone().fair() } else { mutex.clone() };
                    let guard = mutex.lock().await.unwrap();
                    let seen = counter.load(Ordering::Relaxed);
                    tokio::task::yield_now().await;
                    counter.store(seen + 1, Ordering::Relaxed);
                    let token = guard.check().unwrap().get();
                    assert!(last.swap(token, Ordering::Relaxed) < token);
                    if round % 3 == 0 {
                        guard.release().await.unwrap();
                    }
                }
            });
        }
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    assert_eq!(counter.load(Ordering::Relaxed), 4 * 16 * 50);
}

#[tokio::test]
async fn a_waiter_that_gave_up_does_not_stop_the_line() {
    let store = Arc::new(MemoryStore::new());
    let tenure = Tenure::new(store);
    let guard = tenure.mutex("a").lock().await.unwrap();
    let mutex = tenure.mutex("a");
    let waits = |mutex: tenure_core::Mutex| {
        tokio::spawn(async move { mutex.lock().wait(Duration::from_secs(10)).await })
    };
    let (first, second) = (waits(mutex.clone()), waits(mutex.clone()));
    let short = mutex.lock().wait(Duration::from_millis(20)).await;
    assert!(matches!(short, Err(AcquireError::TimedOut(_))));
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    guard.release().await.unwrap();
    second.await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_lost_guard_does_not_hold_up_its_own_process() {
    let store = MemoryStore::new();
    let tenure = Tenure::new(Arc::new(store));
    let stuck = tenure.mutex("a").ttl(Duration::from_millis(50));
    let stuck = stuck.lock().max_hold(Duration::from_millis(60)).await.unwrap();
    let next = tenure.mutex("a").lock().wait(Duration::from_secs(10)).await.unwrap();
    assert!(stuck.check().is_err());
    assert!(next.token() > stuck.token());
    drop(stuck);
    next.check().unwrap();
    next.release().await.unwrap();
}
