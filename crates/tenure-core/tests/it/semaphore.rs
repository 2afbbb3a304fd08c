//! The semaphore and its permits.

use std::{sync::Arc, time::Duration};

use tenure_core::{AcquireError, Guard, MemoryStore, Semaphore, Store, Tenure};
use tokio::task::JoinHandle;

use crate::{running, settle};

fn takes(semaphore: &Semaphore, take: u32) -> JoinHandle<Guard> {
    let semaphore = semaphore.clone();
    tokio::spawn(async move { semaphore.acquire_many(take).await.unwrap() })
}

#[tokio::test]
async fn no_more_permits_are_out_than_there_are() {
    let tenure = Tenure::new(Arc::new(MemoryStore::new()));
    let semaphore = tenure.semaphore("a", 3);
    assert_eq!(semaphore.permits(), 3);
    let two = semaphore.acquire_many(2).await.unwrap();
    assert_eq!(semaphore.available().await.unwrap(), 1);
    assert!(semaphore.try_acquire_many(2).await.unwrap().is_none());
    let one = semaphore.try_acquire().await.unwrap().unwrap();
    assert!(semaphore.try_acquire().await.unwrap().is_none());
    assert_ne!(one.token(), two.token());
    assert_eq!(semaphore.available().await.unwrap(), 0);
    two.release().await.unwrap();
    assert_eq!(semaphore.available().await.unwrap(), 2);
    let again = semaphore.try_acquire_many(2).await.unwrap().unwrap();
    assert!(tenure.mutex("a").try_lock().await.unwrap().is_none());
    drop((one, again));
}

#[tokio::test]
async fn permits_that_can_never_be_had_are_refused_with_their_number() {
    let tenure = Tenure::new(Arc::new(MemoryStore::new()));
    for (take, of) in [(0, 3), (4, 3), (1, 0), (u32::MAX, 1)] {
        let error = tenure.semaphore("a", of).acquire_many(take).await.unwrap_err();
        let location = tenure.store().location();
        let text = format!("lock \"a\" in {location}: {take} of {of} permits");
        assert!(format!("{error:#}").starts_with(&text), "{error:#}");
        assert!(matches!(error, AcquireError::Permits { .. }));
        assert!(tenure.semaphore("a", of).try_acquire_many(take).await.is_err());
    }
    let most = tenure.semaphore("b", u32::MAX);
    let guard = most.acquire_many(u32::MAX).await.unwrap();
    assert!(most.try_acquire().await.unwrap().is_none());
    guard.release().await.unwrap();
}

#[tokio::test]
async fn a_large_ask_is_not_starved_by_small_ones() {
    let (tenure, _, _) = running();
    let semaphore = tenure.semaphore("a", 3);
    let two = semaphore.acquire_many(2).await.unwrap();
    let all = takes(&semaphore, 3);
    settle().await;
    let small = takes(&semaphore, 1);
    settle().await;
    assert!(!all.is_finished() && !small.is_finished());
    assert!(semaphore.try_acquire().await.unwrap().is_none());
    two.release().await.unwrap();
    let all = all.await.unwrap();
    settle().await;
    assert!(!small.is_finished());
    all.release().await.unwrap();
    small.await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_release_lets_in_as_many_as_fit() {
    let (tenure, _, _) = running();
    let semaphore = tenure.semaphore("a", 4);
    let all = semaphore.acquire_many(4).await.unwrap();
    let waiting = [takes(&semaphore, 2), takes(&semaphore, 1)];
    settle().await;
    let last = takes(&semaphore, 2);
    settle().await;
    all.release().await.unwrap();
    settle().await;
    assert!(waiting.iter().all(JoinHandle::is_finished));
    assert!(!last.is_finished());
    for guard in waiting {
        guard.await.unwrap().release().await.unwrap();
    }
    last.await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn the_permits_of_a_dead_holder_come_back_when_its_lease_ends() {
    let (tenure, store, clock) = running();
    let (dying, _stopped) =
        Tenure::builder(Arc::new(store.clone())).clock(Arc::new(clock.clone())).build_inline();
    let ttl = Duration::from_secs(3);
    let living = tenure.semaphore("a", 3).ttl(ttl).acquire().await.unwrap();
    let dead = dying.semaphore("a", 3).ttl(ttl).acquire_many(2).await.unwrap();
    let waiting = takes(&tenure.semaphore("a", 3).ttl(ttl), 2);
    settle().await;
    clock.advance(ttl / 2);
    settle().await;
    assert!(!waiting.is_finished());
    clock.advance(ttl / 2);
    settle().await;
    assert!(dead.check().is_err());
    waiting.await.unwrap().check().unwrap();
    living.check().unwrap();
}

/// While callers disagree about the number, each goes by its own, and the largest is the bound.
#[tokio::test]
async fn a_new_number_holds_for_new_asks_and_old_ones_go_by_theirs() {
    let (tenure, store, _) = running();
    let (three, five) = (tenure.semaphore("a", 3), tenure.semaphore("a", 5));
    let mut held = vec![three.acquire_many(3).await.unwrap()];
    assert!(three.try_acquire().await.unwrap().is_none());
    held.push(five.try_acquire_many(2).await.unwrap().unwrap());
    assert!(five.try_acquire().await.unwrap().is_none());
    // The smaller number waits until there is room by its own, and the larger one behind it.
    let old = takes(&three, 1);
    settle().await;
    let new = takes(&five, 1);
    settle().await;
    drop(held.pop());
    settle().await;
    assert!(!old.is_finished() && !new.is_finished());
    drop(held.pop());
    let (old, new) = (old.await.unwrap(), new.await.unwrap());
    let seen = store.inspect(old.name()).await.unwrap();
    assert_eq!(seen.holders.len(), 2);
    drop((old, new));
}

#[tokio::test]
async fn a_smaller_number_takes_nothing_from_present_holders() {
    let (tenure, _, clock) = running();
    let ttl = Duration::from_secs(3);
    let (five, two) = (tenure.semaphore("a", 5).ttl(ttl), tenure.semaphore("a", 2).ttl(ttl));
    let held = [five.acquire_many(2).await.unwrap(), five.acquire_many(2).await.unwrap()];
    for _ in 0..10 {
        clock.advance(ttl / 3);
        settle().await;
    }
    for guard in &held {
        guard.check().unwrap();
    }
    assert!(two.try_acquire().await.unwrap().is_none());
    let [first, second] = held;
    first.release().await.unwrap();
    assert!(two.try_acquire().await.unwrap().is_none());
    second.release().await.unwrap();
    assert!(two.try_acquire_many(2).await.unwrap().is_some());
}

#[tokio::test]
async fn more_permits_than_the_store_keeps_holders_make_the_rest_wait() {
    let (tenure, store, _) = running();
    let most = store.capabilities().max_holders;
    let semaphore = tenure.semaphore("a", u32::MAX);
    let mut held = Vec::new();
    for _ in 0..most {
        held.push(semaphore.acquire().await.unwrap());
    }
    assert!(semaphore.try_acquire().await.unwrap().is_none());
    let next = takes(&semaphore, 1_000_000);
    settle().await;
    assert!(!next.is_finished());
    drop(held.pop());
    next.await.unwrap().check().unwrap();
}
