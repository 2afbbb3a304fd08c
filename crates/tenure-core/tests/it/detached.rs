//! Holds that leave their process, and come back to one.

use std::{future::IntoFuture, sync::Arc, time::Duration};

use tenure_core::{
    Clock, DetachError, FaultKind, Guard, Handle, HandleError, LockName, MemoryStore, Store,
    Tenure, WriteGuard,
    proto::queue::{Kind, Mode},
};

use crate::{
    STEP, ends_within,
    flawed::{Call, Flaw, Flawed, on_flawed},
    running, settle, waiters,
};

const TTL: Duration = Duration::from_secs(60);
const LEASE: Duration = Duration::from_secs(600);

async fn is_free(store: &impl Store, name: &str) -> bool {
    !store.inspect(&LockName::new(name).unwrap()).await.unwrap().is_held()
}

/// What was detached in another process, which has nothing to do with it any more.
async fn detached(store: &MemoryStore) -> (Handle, tenure_core::Token) {
    let other = Tenure::new(Arc::new(store.clone()));
    let guard = other.mutex("a").ttl(TTL).lock().await.unwrap();
    let before = guard.token();
    let detached = guard.detach().lease(LEASE).await.unwrap();
    assert!(detached.token > before);
    (detached.handle, detached.token)
}

#[tokio::test]
async fn a_hold_leaves_its_process_and_comes_back_to_one() {
    let (tenure, store, clock) = running();
    let guard = tenure.mutex("a").ttl(TTL).label("first").lock().await.unwrap();
    let (first, deadline) = (guard.token(), guard.deadline());
    let detached = guard.detach().lease(LEASE).await.unwrap();
    assert!(detached.token > first && detached.deadline > deadline);
    assert_eq!(detached.deadline.since(clock.now()), LEASE);
    let seen = tenure.mutex("a").inspect().await.unwrap();
    assert_eq!(seen.holders[0].label, "first (detached)");
    assert_eq!(seen.holders[0].token, Some(detached.token));
    // Longer than the guard's lease, which nobody renews.
    for _ in 0..20 {
        clock.advance(TTL / 4);
        settle().await;
    }
    assert!(tenure.mutex("a").try_lock().await.unwrap().is_none());
    let guard = tenure.attach(&detached.handle).ttl(TTL).await.unwrap();
    assert!(guard.token() > detached.token);
    guard.check().unwrap();
    guard.release().await.unwrap();
    assert!(is_free(&store, "a").await);
}

#[tokio::test]
async fn what_is_attached_is_renewed() {
    let (tenure, store, clock) = running();
    let (handle, _) = detached(&store).await;
    let guard = tenure.attach(&handle).ttl(TTL).await.unwrap();
    for _ in 0..20 {
        clock.advance(TTL / 4);
        settle().await;
        guard.check().unwrap();
    }
    drop(guard);
    settle().await;
    assert!(is_free(&store, "a").await);
}

#[tokio::test]
async fn a_handle_attaches_once() {
    let (tenure, store, _) = running();
    let (handle, _) = detached(&store).await;
    let copy: Handle = handle.expose().parse().unwrap();
    let guard = tenure.attach(&handle).await.unwrap();
    for handle in [&handle, &copy] {
        let error = tenure.attach(handle).await.unwrap_err();
        assert!(matches!(error, HandleError::Lost(_)), "{error:#}");
        assert!(matches!(tenure.release_detached(handle).await, Err(HandleError::Lost(_))));
        assert!(matches!(tenure.renew_detached(handle, TTL).await, Err(HandleError::Lost(_))));
    }
    guard.check().unwrap();
}

#[tokio::test]
async fn a_handle_of_a_lease_that_ended_is_lost() {
    let (tenure, store, clock) = running();
    let (handle, token) = detached(&store).await;
    clock.advance(LEASE * 102 / 100);
    let error = tenure.attach(&handle).await.unwrap_err();
    assert!(matches!(error, HandleError::Lost(_)), "{error:#}");
    let next = tenure.mutex("a").lock().await.unwrap();
    assert!(next.token() > token);
    assert!(matches!(tenure.attach(&handle).await, Err(HandleError::Lost(_))));
    next.check().unwrap();
}

#[tokio::test]
async fn whoever_has_the_handle_renews_and_releases() {
    let (tenure, store, clock) = running();
    let (handle, _) = detached(&store).await;
    let until = tenure.renew_detached(&handle, LEASE * 2).await.unwrap();
    assert!(until.since(clock_now(&tenure)) >= LEASE * 2, "it can be counted on for less");
    clock.advance(LEASE);
    assert!(until > clock_now(&tenure));
    assert!(!is_free(&store, "a").await);
    // Never shorter.
    let same = tenure.renew_detached(&handle, TTL).await.unwrap();
    assert!(same.since(clock_now(&tenure)) > TTL);
    tenure.release_detached(&handle).await.unwrap();
    assert!(is_free(&store, "a").await);
    let error = tenure.renew_detached(&handle, Duration::from_micros(1)).await.unwrap_err();
    assert!(matches!(error, HandleError::Setting(_)), "{error:#}");
}

#[tokio::test]
async fn a_renewal_that_may_have_been_done_is_in_doubt_whatever_came_after_it() {
    let (tenure, store, clock) = on_flawed();
    let detached = tenure.mutex("a").ttl(TTL).lock().await.unwrap().detach().await.unwrap();
    store.flaws(|flaws| flaws.renew = Some(Flaw::Fails(FaultKind::InDoubt)));
    let renewing = tokio::spawn({
        let (tenure, handle) = (tenure.clone(), detached.handle.clone());
        async move { tenure.renew_detached(&handle, TTL).await }
    });
    settle().await;
    store.flaws(|flaws| flaws.renew = Some(Flaw::Fails(FaultKind::Unreachable)));
    while !renewing.is_finished() {
        clock.advance(Duration::from_millis(100));
        settle().await;
    }
    let error = renewing.await.unwrap().unwrap_err();
    assert!(matches!(error, HandleError::InDoubt(_)), "{error:?}");
}

fn clock_now(tenure: &Tenure) -> tenure_core::Timestamp {
    tenure.clock().now()
}

#[tokio::test]
async fn tasks_of_the_process_wait_for_what_it_detached() {
    let (tenure, store, _) = running();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    let next = tokio::spawn(tenure.mutex("a").lock().into_future());
    settle().await;
    let detached = guard.detach().lease(LEASE).await.unwrap();
    settle().await;
    assert!(!next.is_finished(), "it was handed what had left");
    assert_eq!(waiters(&store, "a").await, 1);
    tenure.release_detached(&detached.handle).await.unwrap();
    let next = next.await.unwrap().unwrap();
    assert!(next.token() > detached.token);
}

#[tokio::test]
async fn writers_readers_and_permits_stay_what_they_are() {
    let (tenure, store, _) = running();
    let lock = tenure.rwlock("a");
    let handle = lock.write().await.unwrap().detach().await.unwrap().handle;
    assert_eq!((handle.kind(), handle.mode()), (Kind::ReadWrite, Mode::Exclusive));
    assert!(lock.try_read().await.unwrap().is_none());
    let writer = WriteGuard::from(tenure.attach(&handle).await.unwrap());
    let reader = writer.downgrade().await.unwrap();
    let handle = reader.detach().await.unwrap().handle;
    assert_eq!((handle.kind(), handle.mode()), (Kind::ReadWrite, Mode::Shared));
    let other = lock.try_read().await.unwrap().unwrap();
    let reader = tenure.attach(&handle).await.unwrap();
    other.release().await.unwrap();
    assert!(lock.try_write().await.unwrap().is_none());
    reader.release().await.unwrap();
    let permits = tenure.semaphore("b", 3);
    let handle = permits.acquire_many(2).await.unwrap().detach().await.unwrap().handle;
    assert_eq!(permits.available().await.unwrap(), 1);
    let handle: Handle = handle.expose().parse().unwrap();
    let guard = tenure.attach(&handle).await.unwrap();
    assert_eq!(permits.available().await.unwrap(), 1);
    guard.release().await.unwrap();
    assert_eq!(permits.available().await.unwrap(), 3);
    assert!(is_free(&store, "a").await);
}

#[tokio::test]
async fn a_writer_whose_downgrade_was_refused_is_detached_as_one() {
    let (tenure, store, clock) = on_flawed();
    let writer = tenure.rwlock("a").ttl(TTL).write().await.unwrap();
    store.refuse_asks(true);
    let downgrading = tokio::spawn(writer.downgrade());
    assert!(ends_within(Duration::from_secs(3), &downgrading, &clock).await);
    let error = downgrading.await.unwrap().unwrap_err();
    let tenure_core::DowngradeError::StillWriting { guard, .. } = error else {
        panic!("{error:#}")
    };
    let handle = guard.detach().await.unwrap().handle;
    assert_eq!(handle.mode(), Mode::Exclusive);
}

#[tokio::test]
async fn what_was_lost_cannot_be_detached() {
    let (tenure, store, _) = running();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    store.evict(guard.name()).await.unwrap();
    let error = guard.detach().await.unwrap_err();
    assert!(matches!(error, DetachError::Lost(_)), "{error:#}");
    assert!(is_free(&store, "a").await);
}

#[tokio::test]
async fn a_guard_that_is_about_to_be_detached_is_held_until_it_is() {
    let (tenure, store, _) = running();
    let detach = tenure.mutex("a").lock().await.unwrap().detach();
    let handle = detach.handle().unwrap().clone();
    assert!(matches!(tenure.attach(&handle).await, Err(HandleError::Lost(_))));
    assert!(!is_free(&store, "a").await);
    drop(detach);
    settle().await;
    assert!(is_free(&store, "a").await);
    let detach = tenure.mutex("a").lock().await.unwrap().detach();
    let handle = detach.handle().unwrap().clone();
    assert_eq!(detach.await.unwrap().handle, handle);
    tenure.attach(&handle).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn an_answer_that_got_lost_is_asked_for_again() {
    let (tenure, store, clock) = on_flawed();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    store.lose_next_answer();
    let detaching = tokio::spawn(guard.detach().into_future());
    assert!(ends_within(STEP * 2, &detaching, &clock).await);
    let detached = detaching.await.unwrap().unwrap();
    store.lose_next_answer();
    let attaching = tokio::spawn(tenure.attach(&detached.handle).ttl(TTL).into_future());
    assert!(ends_within(STEP * 2, &attaching, &clock).await);
    let guard = attaching.await.unwrap().unwrap();
    guard.check().unwrap();
    store.lose_next_answer();
    let releasing = tokio::spawn(guard.release());
    assert!(ends_within(STEP * 2, &releasing, &clock).await);
    releasing.await.unwrap().unwrap();
    assert!(is_free(&store, "a").await);
}

#[tokio::test]
async fn what_is_in_doubt_is_taken_back() {
    for attaches in [false, true] {
        let (tenure, store, clock) = on_flawed();
        let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
        // Every other answer comes, and no call of this kind is one of those.
        let error = if attaches {
            let handle = guard.detach().lease(LEASE).await.unwrap().handle;
            store.flaws(|flaws| flaws.take_over = Some(Flaw::Silent));
            let attaching = tokio::spawn(tenure.attach(&handle).ttl(TTL).into_future());
            assert!(ends_within(TTL + STEP, &attaching, &clock).await);
            let error = attaching.await.unwrap().unwrap_err();
            assert!(matches!(error, HandleError::InDoubt(_)), "{error:#}");
            assert!(!is_free(&store, "a").await, "what was never attached is not taken back");
            format!("{error:#}")
        } else {
            store.flaws(|flaws| flaws.take_over = Some(Flaw::Silent));
            let detaching = tokio::spawn(guard.detach().lease(LEASE).into_future());
            assert!(ends_within(TTL, &detaching, &clock).await);
            let error = detaching.await.unwrap().unwrap_err();
            assert!(matches!(error, DetachError::InDoubt(_)), "{error:#}");
            settle().await;
            assert!(is_free(&store, "a").await);
            format!("{error:#}")
        };
        assert!(error.contains("\"a\"") && error.contains("memory"), "{error:#}");
        let releases = store.diary().into_iter().filter(|call| *call == Call::Release).count();
        assert!(releases >= if attaches { 1 } else { 2 }, "{releases}");
    }
}

#[tokio::test]
async fn dropping_it_midway_takes_it_back() {
    let (tenure, store, clock) = on_flawed();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    // It takes effect, and is not heard of.
    store.lose_answers(u32::MAX);
    store.lose_next_answer();
    let detaching = tokio::spawn(guard.detach().lease(LEASE).into_future());
    settle().await;
    assert!(!detaching.is_finished());
    detaching.abort();
    for _ in 0..8 {
        settle().await;
        clock.advance(STEP);
    }
    assert!(is_free(&store, "a").await);
}

#[tokio::test]
async fn a_refusal_leaves_the_handle_and_releases_the_guard() {
    let (tenure, store, _) = on_flawed();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    let handle = guard.detach().await.unwrap().handle;
    store.flaws(|flaws| flaws.take_over = Some(Flaw::Fails(FaultKind::Misconfigured)));
    let error = tenure.attach(&handle).await.unwrap_err();
    assert!(matches!(error, HandleError::Store(_)), "{error:#}");
    settle().await;
    store.flaws(|flaws| flaws.take_over = None);
    let guard = tenure.attach(&handle).await.unwrap();
    store.flaws(|flaws| flaws.take_over = Some(Flaw::Fails(FaultKind::Misconfigured)));
    let error = guard.detach().await.unwrap_err();
    assert!(matches!(error, DetachError::Store(_)), "{error:#}");
    settle().await;
    assert!(is_free(&store, "a").await);
}

#[tokio::test]
async fn a_store_that_detaches_nothing_says_why() {
    let store = Flawed::new(MemoryStore::new()).without(|can| can.detach = false);
    let tenure = Tenure::new(Arc::new(store.clone()));
    let guard: Guard = tenure.mutex("a").lock().await.unwrap();
    let handle = guard.detach().handle().unwrap().clone();
    for error in [
        tenure.attach(&handle).await.unwrap_err(),
        tenure.renew_detached(&handle, TTL).await.unwrap_err(),
        tenure.release_detached(&handle).await.unwrap_err(),
    ] {
        assert!(matches!(error, HandleError::Store(_)), "{error:#}");
        assert!(format!("{error:#}").contains("no hold outlives its process"), "{error:#}");
    }
    let error = tenure.mutex("b").lock().await.unwrap().detach().await.unwrap_err();
    assert!(format!("{error:#}").contains("no hold outlives its process"), "{error:#}");
    assert!(!store.diary().contains(&Call::TakeOver), "it was asked all the same");
}

#[tokio::test]
async fn nothing_is_renewed_for_longer_than_the_store_grants() {
    let store = Flawed::new(MemoryStore::new()).without(|can| can.longest_lease = TTL);
    let tenure = Tenure::new(Arc::new(store));
    let handle = tenure.mutex("a").ttl(TTL).lock().await.unwrap().detach().await.unwrap().handle;
    let error = tenure.renew_detached(&handle, TTL + STEP).await.unwrap_err();
    assert!(matches!(error, HandleError::Store(_)), "{error:#}");
    assert!(format!("{error:#}").contains("60s"), "{error:#}");
    tenure.renew_detached(&handle, TTL).await.unwrap();
}

#[tokio::test]
async fn a_renewal_that_the_store_cuts_is_an_error() {
    let (tenure, store, _) = on_flawed();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    let handle = guard.detach().await.unwrap().handle;
    store.flaws(|flaws| flaws.longest_renewal = Some(TTL * 2));
    tenure.renew_detached(&handle, TTL).await.unwrap();
    let error = tenure.renew_detached(&handle, LEASE).await.unwrap_err();
    assert!(matches!(error, HandleError::Store(_)), "{error:#}");
    assert!(format!("{error:#}").contains("only for 120s"), "{error:#}");
}

/// Another library bounds the leases of readers, whom a watchdog of their own process renews in time.
#[tokio::test]
async fn a_reader_is_detached_for_as_long_as_the_store_grants() {
    let short = |can: &mut tenure_core::store::Capabilities| can.longest_detached_read_write = TTL;
    let store = Flawed::new(MemoryStore::new()).without(short);
    let tenure = Tenure::new(Arc::new(store.clone()));
    let reading = tenure.rwlock("a").read().ttl(TTL * 2).await.unwrap();
    let detach = reading.detach().lease(TTL + STEP);
    let error = detach.handle().unwrap_err();
    assert!(format!("{error:#}").contains("only up to 60s"), "{error:#}");
    assert!(!store.diary().contains(&Call::TakeOver), "it was asked all the same");
    let handle = detach.lease(TTL).await.unwrap().handle;
    let error = tenure.renew_detached(&handle, TTL + STEP).await.unwrap_err();
    assert!(format!("{error:#}").contains("only up to 60s"), "{error:#}");
    tenure.renew_detached(&handle, TTL).await.unwrap();
    let by_default = tenure.rwlock("a").read().ttl(TTL * 2).await.unwrap().detach();
    assert_eq!(by_default.await.unwrap().handle.lease(), TTL);
    let alone = tenure.mutex("b").ttl(TTL).lock().await.unwrap().detach().lease(LEASE);
    alone.await.unwrap();
}

#[tokio::test]
async fn a_handle_of_another_store_is_refused_and_goes_on_working() {
    let (tenure, store, _) = running();
    let (handle, _) = detached(&store).await;
    let (other, _, _) = on_flawed();
    let error = format!("{:#}", other.attach(&handle).await.unwrap_err());
    assert!(error.contains("a store of kind \"memory\""), "{error:#}");
    assert!(matches!(other.release_detached(&handle).await, Err(HandleError::Store(_))));
    tenure.attach(&handle).await.unwrap().release().await.unwrap();
}
