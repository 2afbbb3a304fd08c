//! The read-write lock and its two guards.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    AcquireError, DowngradeError, Guard, MemoryStore, Mutex, ReleaseError, RwLock, Store, Tenure,
    WriteGuard, error::Error,
};
use tokio::task::JoinHandle;

use crate::{running, settle, waiters};

const TTL: Duration = Duration::from_secs(3);

fn reads(lock: &RwLock) -> JoinHandle<Guard> {
    let lock = lock.clone();
    tokio::spawn(async move { lock.read().await.unwrap() })
}

fn writes(lock: &RwLock) -> JoinHandle<WriteGuard> {
    let lock = lock.clone();
    tokio::spawn(async move { lock.write().await.unwrap() })
}

#[tokio::test]
async fn readers_share_and_a_writer_is_alone() {
    let tenure = Tenure::new(Arc::new(MemoryStore::new()));
    let lock = tenure.rwlock("a");
    let readers = [lock.read().await.unwrap(), lock.read().await.unwrap()];
    assert!(lock.try_write().await.unwrap().is_none());
    assert!(tenure.mutex("a").try_lock().await.unwrap().is_none());
    let read = readers.iter().map(Guard::token).max();
    for reader in readers {
        reader.release().await.unwrap();
    }
    let writer = lock.try_write().await.unwrap().unwrap();
    assert!(Some(writer.token()) > read);
    assert!(lock.try_read().await.unwrap().is_none());
    assert!(lock.try_write().await.unwrap().is_none());
    let wrote = writer.token();
    writer.release().await.unwrap();
    assert!(lock.try_read().await.unwrap().unwrap().token() > wrote);
}

#[tokio::test]
async fn a_waiting_writer_stops_later_readers_and_earlier_ones_enter_together() {
    let (tenure, store, _) = running();
    let lock = tenure.rwlock("a");
    let first = lock.write().await.unwrap();
    let leading = [reads(&lock), reads(&lock)];
    settle().await;
    let writer = {
        let lock = lock.clone().fair();
        writes(&lock)
    };
    settle().await;
    let behind = reads(&lock);
    settle().await;
    assert_eq!(waiters(&store, "a").await, 4);
    first.release().await.unwrap();
    settle().await;
    assert!(leading.iter().all(JoinHandle::is_finished));
    assert!(!writer.is_finished() && !behind.is_finished());
    assert!(lock.try_read().await.unwrap().is_none(), "a reader passed a waiting writer");
    for reader in leading {
        reader.await.unwrap().release().await.unwrap();
    }
    let writer = writer.await.unwrap();
    settle().await;
    assert!(!behind.is_finished());
    writer.release().await.unwrap();
    behind.await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_stream_of_overlapping_readers_does_not_starve_a_writer() {
    let store = MemoryStore::new();
    let tenure = Tenure::new(Arc::new(store.clone()));
    let lock = tenure.rwlock("a");
    let mut newest = lock.read().await.unwrap();
    let writer = writes(&lock);
    while waiters(&store, "a").await == 0 {
        tokio::task::yield_now().await;
    }
    // Each reader is replaced by one that overlaps it, until one has to wait behind the writer.
    let behind = loop {
        match lock.try_read().await.unwrap() {
            Some(next) => drop(std::mem::replace(&mut newest, next)),
            None => break reads(&lock),
        }
    };
    drop(newest);
    writer.await.unwrap().release().await.unwrap();
    behind.await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn every_reader_is_renewed_by_itself_and_a_dead_one_frees_only_itself() {
    let (tenure, store, clock) = running();
    let (dying, _stopped) =
        Tenure::builder(Arc::new(store.clone())).clock(Arc::new(clock.clone())).build_inline();
    let living = [tenure.rwlock("a").ttl(TTL).read().await.unwrap(), {
        tenure.rwlock("a").ttl(TTL * 2).read().await.unwrap()
    }];
    let dead = dying.rwlock("a").ttl(TTL).read().await.unwrap();
    for _ in 0..20 {
        clock.advance(Duration::from_millis(500));
        settle().await;
    }
    assert!(dead.check().is_err());
    let holders = store.inspect(dead.name()).await.unwrap().holders;
    assert_eq!(holders.len(), living.len());
    for reader in living {
        reader.check().unwrap();
        reader.release().await.unwrap();
    }
    assert!(tenure.rwlock("a").try_write().await.unwrap().is_some());
}

#[tokio::test]
async fn a_downgrade_lets_waiting_readers_in_at_once_and_keeps_token_and_renewals() {
    let (tenure, store, clock) = running();
    let lock = tenure.rwlock("a").ttl(TTL);
    let writer = lock.write().await.unwrap();
    let token = writer.token();
    let waiting = [reads(&lock), reads(&lock)];
    settle().await;
    let reader = writer.downgrade().await.unwrap();
    settle().await;
    // The clock stands still: it was the store's word that let them in.
    assert!(waiting.iter().all(JoinHandle::is_finished));
    assert_eq!(reader.token(), token);
    assert!(lock.try_write().await.unwrap().is_none());
    for _ in 0..20 {
        clock.advance(Duration::from_millis(500));
        settle().await;
    }
    reader.check().unwrap();
    assert_eq!(store.inspect(reader.name()).await.unwrap().holders.len(), 3);
    reader.release().await.unwrap();
    for reader in waiting {
        reader.await.unwrap().release().await.unwrap();
    }
    assert!(lock.try_write().await.unwrap().is_some());
}

#[tokio::test]
async fn a_downgraded_lease_is_not_handed_to_a_writer_of_the_same_process() {
    let (tenure, _, _) = running();
    let lock = tenure.rwlock("a");
    let writer = lock.write().await.unwrap();
    let next = writes(&lock);
    settle().await;
    let reader = writer.downgrade().await.unwrap();
    let other = lock.clone().fair();
    settle().await;
    // The next writer stands in the store's line now, and a later reader behind it.
    let behind = reads(&other);
    settle().await;
    assert!(!next.is_finished() && !behind.is_finished());
    let shared = reader.token();
    reader.release().await.unwrap();
    let writer = next.await.unwrap();
    assert!(writer.token().time() > shared.time(), "a shared lease was handed over");
    settle().await;
    assert!(!behind.is_finished());
    drop(writer);
    behind.await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_lease_that_was_handed_over_is_downgraded_with_the_token_of_its_pass() {
    let (tenure, _, _) = running();
    let lock = tenure.rwlock("a");
    let writer = lock.write().await.unwrap();
    let next = writes(&lock);
    settle().await;
    writer.release().await.unwrap();
    let passed = next.await.unwrap();
    let token = passed.token();
    assert_eq!(token.pass(), 1);
    assert_eq!(passed.downgrade().await.unwrap().token(), token);
}

#[tokio::test]
async fn a_downgrade_of_a_lost_hold_says_so_and_keeps_nothing() {
    let (tenure, store, _) = running();
    let lock = tenure.rwlock("a");
    let writer = lock.write().await.unwrap();
    let token = writer.token();
    store.evict(writer.name()).await.unwrap();
    let error = writer.downgrade().await.unwrap_err();
    let DowngradeError::Lost(lost) = error else { panic!("{error:#}") };
    assert_eq!(lost.token, token);
    settle().await;
    assert!(lock.try_write().await.unwrap().is_some(), "the downgrade left a reader behind");
}

#[tokio::test]
async fn a_downgrade_after_the_name_went_to_another_is_a_loss() {
    let (tenure, store, clock) = running();
    let (other, _engine) =
        Tenure::builder(Arc::new(store.clone())).clock(Arc::new(clock.clone())).build_inline();
    let writer = tenure.rwlock("a").write().await.unwrap();
    store.evict(writer.name()).await.unwrap();
    let next = other.rwlock("a").write().await.unwrap();
    assert!(matches!(writer.downgrade().await, Err(DowngradeError::Lost(_))));
    next.check().unwrap();
    let late = tenure.rwlock("b").ttl(TTL).write().await.unwrap();
    clock.advance(TTL);
    let error: Error = late.downgrade().await.unwrap_err().into();
    assert!(matches!(error, Error::Lost(_)), "{error:#}");
}

#[tokio::test]
async fn a_dropped_downgrade_leaves_nothing_behind() {
    let (tenure, store, _) = running();
    let lock = tenure.rwlock("a");
    let writer = lock.write().await.unwrap();
    let name = writer.name().clone();
    drop(writer.downgrade());
    settle().await;
    assert!(store.inspect(&name).await.unwrap().holders.is_empty());
}

#[tokio::test]
async fn a_writer_that_waits_for_its_own_reader_times_out() {
    let tenure = Tenure::new(Arc::new(MemoryStore::new()));
    let lock = tenure.rwlock("a").label("myself");
    let _reading = lock.read().await.unwrap();
    let error = lock.write().wait(Duration::from_millis(20)).await.unwrap_err();
    let AcquireError::TimedOut(end) = error else { panic!("{error:#}") };
    assert_eq!(end.holder.unwrap().label, "myself");
}

#[tokio::test]
async fn a_write_guard_is_a_guard() {
    let tenure = Tenure::new(Arc::new(MemoryStore::new()));
    let writer = tenure.rwlock("a").write().await.unwrap();
    assert_eq!(writer.run(async { 7 }).await.unwrap(), 7);
    let guard: Guard = writer.into();
    guard.release().await.unwrap();
    let writer = tenure.rwlock("a").write().await.unwrap();
    assert!(writer.leave_to_expire() > Duration::from_secs(20));
    let mutex: Mutex = tenure.mutex("a");
    assert!(mutex.try_lock().await.unwrap().is_none());
}

#[tokio::test]
async fn a_release_of_a_writer_that_an_operator_took_away_says_so() {
    let (tenure, store, _) = running();
    let writer = tenure.rwlock("a").write().await.unwrap();
    store.evict(writer.name()).await.unwrap();
    let lost = writer.release().await.unwrap_err();
    assert!(matches!(lost, ReleaseError::Lost(_)), "{lost:#}");
}
