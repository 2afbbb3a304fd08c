//! The end of a `Tenure`: what is refused, and what is still carried out.

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt;
use tenure_core::{AcquireError, MemoryStore, Tenure};

use crate::{on_manual_clock, settle, waiters};

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
        assert!(matches!(refused, AcquireError::ShutDown { .. }), "{refused}");
    }
}
