//! The end of a `Tenure`: what is refused, and what is still carried out.

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt;
use tenure_core::{AcquireError, MemoryStore, Tenure};

use crate::{
    flawed::{Flaw, Flawed, on_flawed},
    on_manual_clock, running, settle, waiters,
};

const SOON: Duration = Duration::from_secs(5);
const TTL: Duration = Duration::from_secs(3);

#[tokio::test]
async fn no_more_holds_than_allowed_and_none_after_a_shutdown() {
    let store = Arc::new(MemoryStore::new());
    let tenure = Tenure::builder(store).max_holds(1).build();
    let guard = tenure.mutex("a").lock().await.unwrap();
    let full = tenure.mutex("b").lock().await.unwrap_err();
    assert!(matches!(full, AcquireError::TooManyHolds { limit: 1, .. }), "{full}");
    let left = tenure.shutdown(Duration::from_millis(10)).await.unwrap_err();
    assert_eq!((left.open, left.unsettled), (1, 0));
    drop(guard);
    tenure.shutdown(Duration::from_secs(5)).await.unwrap();
    assert!(matches!(tenure.mutex("b").lock().await, Err(AcquireError::ShutDown { .. })));
}

#[tokio::test]
async fn a_wait_that_is_dropped_after_a_shutdown_began_is_taken_back() {
    let (tenure, engine, store, clock) = on_manual_clock();
    let engine = tokio::spawn(engine);
    let (other, _stopped) =
        Tenure::builder(Arc::new(store.clone())).clock(Arc::new(clock.clone())).build_inline();
    let _held = other.mutex("a").lock().await.unwrap();
    let waiting = tokio::spawn(tenure.mutex("a").lock().into_future());
    settle().await;
    let ending = tokio::spawn(async move { tenure.shutdown(SOON).await });
    settle().await;
    assert!(!ending.is_finished() && !engine.is_finished());
    waiting.abort();
    settle().await;
    assert_eq!(waiters(&store, "a").await, 0);
    ending.await.unwrap().unwrap();
    tokio::time::timeout(SOON, engine).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_wait_that_is_granted_after_a_shutdown_began_is_renewed() {
    let (tenure, engine, store, clock) = on_manual_clock();
    let engine = tokio::spawn(engine);
    let (other, running) =
        Tenure::builder(Arc::new(store.clone())).clock(Arc::new(clock.clone())).build_inline();
    tokio::spawn(running);
    let held = other.mutex("a").lock().await.unwrap();
    let waiting = tokio::spawn(tenure.mutex("a").ttl(TTL).lock().into_future());
    settle().await;
    tenure.shutdown(Duration::ZERO).await.unwrap_err();
    settle().await;
    held.release().await.unwrap();
    let guard = waiting.await.unwrap().unwrap();
    for _ in 0..20 {
        clock.advance(Duration::from_millis(500));
        settle().await;
    }
    guard.check().unwrap();
    guard.release().await.unwrap();
    tokio::time::timeout(SOON, engine).await.unwrap().unwrap();
}

#[tokio::test]
async fn nothing_is_acquired_once_the_engine_is_dropped() {
    for started in [false, true] {
        let (tenure, engine, _, _) = on_manual_clock();
        let mut engine = Box::pin(engine);
        if started {
            assert!((&mut engine).now_or_never().is_none());
        }
        drop(engine);
        let refused = tenure.mutex("a").try_lock().await.unwrap_err();
        assert!(matches!(refused, AcquireError::ShutDown { .. }), "{refused:#}");
    }
}

#[tokio::test]
async fn a_shutdown_ends_with_the_last_release() {
    let (tenure, _, _) = running();
    let guard = tenure.mutex("a").lock().await.unwrap();
    let ending = tokio::spawn(async move { tenure.shutdown(SOON).await });
    settle().await;
    assert!(!ending.is_finished());
    guard.release().await.unwrap();
    settle().await;
    assert!(ending.is_finished());
    ending.await.unwrap().unwrap();
}

#[tokio::test]
async fn what_only_may_come_late_keeps_no_shutdown_waiting_and_is_taken_back() {
    let (_, _, store, clock) = on_manual_clock();
    let store = Flawed::new(store).without(|can| can.calls_outlive_drop = true);
    let builder = Tenure::builder(Arc::new(store.clone())).clock(Arc::new(clock.clone()));
    let (tenure, engine) = builder.build_inline();
    let engine = tokio::spawn(engine);
    store.fall_silent(true);
    let waiting = tokio::spawn(tenure.mutex("a").ttl(TTL).lock().into_future());
    settle().await;
    let ending = tokio::spawn(async move { tenure.shutdown(SOON).await });
    settle().await;
    assert!(!ending.is_finished());
    waiting.abort();
    settle().await;
    assert!(ending.is_finished() && !engine.is_finished());
    ending.await.unwrap().unwrap();
    // A late ask may leave a place, which lasts longer than the lease.
    let lasts = TTL.max(Duration::from_secs(10));
    clock.advance(lasts);
    settle().await;
    clock.advance(lasts);
    settle().await;
    assert!(engine.is_finished());
}

/// What a shutdown without patience says was left: guards and waits, and what was not answered.
async fn left(tenure: &Tenure) -> (usize, usize) {
    let left = tenure.shutdown(Duration::ZERO).await.unwrap_err();
    (left.open, left.unsettled)
}

#[tokio::test]
async fn a_shutdown_counts_what_is_held_and_what_was_not_answered() {
    let (tenure, store, _) = on_flawed();
    let mut guards = Vec::new();
    for name in ["a", "b", "c", "d", "e"] {
        guards.push(tenure.mutex(name).ttl(TTL).lock().await.unwrap());
    }
    let _waiting = tokio::spawn(tenure.mutex("a").lock().into_future());
    store.fall_silent(true);
    let waiting = tokio::spawn(tenure.mutex("f").lock().into_future());
    settle().await;
    assert_eq!(left(&tenure).await, (7, 0));
    guards.pop().unwrap().release().await.unwrap();
    assert_eq!(left(&tenure).await, (6, 0));
    // Both are refused, so that they are tried again.
    store.cut_off(true);
    drop(guards.pop());
    waiting.abort();
    settle().await;
    assert_eq!(left(&tenure).await, (4, 2));
    // On their way, in the background and in the foreground.
    store.flaws(|flaws| flaws.release = Some(Flaw::Silent));
    drop(guards.pop());
    let _releasing = tokio::spawn(guards.pop().unwrap().release());
    settle().await;
    assert_eq!(left(&tenure).await, (2, 4));
}

#[tokio::test]
async fn a_shutdown_does_not_count_what_only_may_come_late() {
    let (_, _, store, clock) = on_manual_clock();
    let store = Flawed::new(store).without(|can| can.calls_outlive_drop = true);
    let builder = Tenure::builder(Arc::new(store.clone())).clock(Arc::new(clock.clone()));
    let (tenure, engine) = builder.build_inline();
    tokio::spawn(engine);
    let _guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    store.fall_silent(true);
    let waiting = tokio::spawn(tenure.mutex("b").ttl(TTL).lock().into_future());
    settle().await;
    assert_eq!(left(&tenure).await, (2, 0));
    waiting.abort();
    settle().await;
    assert_eq!(left(&tenure).await, (1, 0));
}
