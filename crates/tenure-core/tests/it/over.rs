//! What is left of a hold that is over: nothing that anybody is told of, and nothing to be done.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::FutureExt;
use tenure_core::{AcquireError, Guard, Store, Tenure};

use crate::{on_count::OnCount, on_manual_clock, running, settle, waiters};

const TTL: Duration = Duration::from_secs(3);

async fn hold(tenure: &Tenure, label: &str) -> Guard {
    tenure.mutex("a").ttl(TTL).label(label).lock().await.unwrap()
}

#[tokio::test]
async fn the_loss_of_a_later_hold_is_none_of_one_that_was_released() {
    let (tenure, store, clock) = running();
    let first = hold(&tenure, "first").await;
    let mut lost = Box::pin(first.lost());
    assert!((&mut lost).now_or_never().is_none());
    let next = tokio::spawn(tenure.mutex("a").ttl(TTL).lock().into_future());
    settle().await;
    first.release().await.unwrap();
    let next = next.await.unwrap().unwrap();
    assert_eq!(next.token().pass(), 1);
    assert!((&mut lost).now_or_never().is_none());
    store.evict(next.name()).await.unwrap();
    clock.advance(TTL);
    settle().await;
    assert!(next.lost().now_or_never().is_some());
    assert!(lost.now_or_never().is_none());
}

#[tokio::test]
async fn nobody_waits_behind_a_hold_of_the_own_process_that_was_lost() {
    let (tenure, store, clock) = running();
    let (other, _engine) =
        Tenure::builder(Arc::new(store.clone())).clock(Arc::new(clock.clone())).build_inline();
    let kept = hold(&tenure, "mine, lost").await;
    let first = tokio::spawn(tenure.mutex("a").ttl(TTL).lock().into_future());
    settle().await;
    store.evict(kept.name()).await.unwrap();
    let _theirs = hold(&other, "theirs").await;
    clock.advance(TTL / 3);
    settle().await;
    kept.check().unwrap_err();
    assert_eq!(waiters(&store, "a").await, 1);
    let second = tenure.mutex("a").lock().wait(Duration::ZERO).await.unwrap_err();
    let AcquireError::TimedOut(end) = second else { panic!("{second}") };
    assert_eq!((end.holder.unwrap().label.as_str(), end.here), ("theirs", false));
    first.abort();
}

#[test]
fn a_hold_that_ends_just_when_the_engine_comes_to_it_is_off_its_agenda() {
    let lost = OnCount::of("tenure_lost_total");
    lost.run(async {
        let (tenure, engine, _, clock) = on_manual_clock();
        let engine = tokio::spawn(engine);
        let limited = |name| tenure.mutex(name).max_hold(TTL).lock().into_future();
        // Both are due at once, and the second is dropped while the engine is at the first.
        let first = limited("a").await.unwrap();
        let second = Arc::new(Mutex::new(Some(limited("b").await.unwrap())));
        let dropped = second.clone();
        lost.next_time(move || drop(dropped.lock().unwrap().take()));
        clock.advance(TTL);
        settle().await;
        assert!(second.lock().unwrap().is_none());
        drop((first, tenure));
        settle().await;
        assert!(engine.is_finished());
    });
}
