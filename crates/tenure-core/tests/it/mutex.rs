//! The mutex and its guard.

use std::{
    future::IntoFuture,
    sync::{Arc, Mutex},
    time::Duration,
};

use tenure_core::{AcquireError, LostReason, MemoryStore, ReleaseError, Store, Tenure};

use crate::{on_manual_clock, running, settle, waiters};

fn tenure() -> (Tenure, MemoryStore) {
    let store = MemoryStore::new();
    (Tenure::new(Arc::new(store.clone())), store)
}

#[tokio::test]
async fn a_second_try_finds_the_lock_busy_until_it_is_released() {
    let (tenure, _) = tenure();
    let mutex = tenure.mutex("a");
    let guard = mutex.lock().await.unwrap();
    assert!(mutex.try_lock().await.unwrap().is_none());
    assert!(mutex.try_lock().fair().await.unwrap().is_none());
    let token = guard.token();
    guard.release().await.unwrap();
    let next = mutex.try_lock().await.unwrap().unwrap();
    assert!(next.token() > token);
}

#[tokio::test]
async fn a_wait_that_ends_names_the_holder_and_leaves_no_place() {
    let (tenure, store) = tenure();
    let other = Tenure::new(Arc::new(store.clone()));
    let _guard = tenure.mutex("a").label("the first").lock().await.unwrap();
    let error = other.mutex("a").lock().wait(Duration::from_millis(30)).await.unwrap_err();
    let AcquireError::TimedOut(end) = error else { panic!("{error:#}") };
    assert_eq!(end.holder.as_ref().unwrap().label, "the first");
    assert!(format!("{end:#}").contains("\"a\" in memory"), "{end}");
    other.shutdown(Duration::from_secs(5)).await.unwrap();
    let name = tenure_core::LockName::new("a").unwrap();
    assert!(store.inspect(&name).await.unwrap().waiters.is_empty());
}

#[tokio::test]
async fn a_wait_behind_the_own_process_names_the_task_that_holds_the_lock() {
    let (tenure, _) = tenure();
    let first = tenure.mutex("a").label("the first").lock().await.unwrap();
    let next = tokio::spawn(tenure.mutex("a").label("the next").lock().into_future());
    tokio::task::yield_now().await;
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = told.clone();
    let waiting = || {
        let tell = tell.clone();
        let waiting = tenure.mutex("a").lock().wait(Duration::from_millis(30));
        waiting.on_busy(move |busy| tell.lock().unwrap().push(busy.clone())).into_future()
    };
    let AcquireError::TimedOut(end) = waiting().await.unwrap_err() else { panic!("not in time") };
    let holder = end.holder.as_ref().unwrap();
    assert_eq!((holder.label.as_str(), holder.token), ("the first", Some(first.token())));
    assert!(holder.left.unwrap() > Duration::from_secs(20) && holder.since.is_some());
    assert_eq!((end.ahead, end.here), (1, true));
    let text = format!("{end:#}");
    assert!(text.contains("held by this process (label \"the first\"), 1 ahead;"), "{text}");
    first.release().await.unwrap();
    let next = next.await.unwrap().unwrap();
    let AcquireError::TimedOut(end) = waiting().await.unwrap_err() else { panic!("not in time") };
    let holder = end.holder.unwrap();
    assert_eq!((holder.label.as_str(), holder.token), ("the next", Some(next.token())));
    assert_eq!((end.ahead, end.here), (0, true));
    let told = std::mem::take(&mut *told.lock().unwrap());
    let told: Vec<_> = told
        .into_iter()
        .map(|busy| (busy.name.to_string(), busy.holder.unwrap().label, busy.ahead, busy.here))
        .collect();
    let said = |label: &str, ahead| ("a".to_owned(), label.to_owned(), ahead, true);
    assert_eq!(told, [said("the first", 1), said("the next", 0)]);
}

#[tokio::test]
async fn a_wait_behind_a_task_that_waits_for_another_process_names_that_holder() {
    let (tenure, store) = tenure();
    let other = Tenure::new(Arc::new(store.clone()));
    let _guard = other.mutex("a").label("the other").lock().await.unwrap();
    let first = tokio::spawn(tenure.mutex("a").lock().into_future());
    while waiters(&store, "a").await == 0 {
        tokio::task::yield_now().await;
    }
    let error = tenure.mutex("a").lock().wait(Duration::from_millis(30)).await.unwrap_err();
    let AcquireError::TimedOut(end) = error else { panic!("{error:#}") };
    assert_eq!(end.holder.as_ref().unwrap().label, "the other");
    assert_eq!((end.ahead, end.here), (1, false));
    first.abort();
}

#[tokio::test]
async fn a_guard_dropped_outside_a_runtime_releases_its_lock() {
    let (tenure, _) = tenure();
    let guard = tenure.mutex("a").lock().await.unwrap();
    std::thread::spawn(move || drop(guard)).join().unwrap();
    let again = tenure.mutex("a").lock().wait(Duration::from_secs(5)).await.unwrap();
    again.release().await.unwrap();
}

#[test]
fn a_guard_outlives_the_runtime_it_was_made_in() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (one, other) = (runtime(), runtime());
    let (tenure, _) = tenure();
    let guard = one.block_on(async { tenure.mutex("a").lock().await.unwrap() });
    drop(one);
    guard.check().unwrap();
    other.block_on(guard.release()).unwrap();
    assert!(other.block_on(async { tenure.mutex("a").try_lock().await.unwrap().is_some() }));
}

#[tokio::test]
async fn a_panic_while_holding_releases_the_lock() {
    let (tenure, _) = tenure();
    let mutex = tenure.mutex("a");
    let inside = mutex.clone();
    let panicked = tokio::spawn(async move {
        let _guard = inside.lock().await.unwrap();
        panic!("on purpose");
    });
    assert!(panicked.await.unwrap_err().is_panic());
    mutex.lock().wait(Duration::from_secs(5)).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_name_that_cannot_be_used_is_an_error_when_it_is_locked() {
    let (tenure, _) = tenure();
    assert!(matches!(tenure.mutex("").lock().await, Err(AcquireError::Name(_))));
    let bad = tenure.mutex("a").ttl(Duration::ZERO).lock().await.unwrap_err();
    assert!(bad.to_string().starts_with("ttl of 0s is out of range"), "{bad}");
}

#[tokio::test]
async fn an_evicted_holder_learns_of_it_and_cannot_release_the_next() {
    let (tenure, store) = tenure();
    let mutex = tenure.mutex("a").ttl(Duration::from_millis(300));
    let guard = mutex.lock().await.unwrap();
    store.evict(guard.name()).await.unwrap();
    let next = Tenure::new(Arc::new(store)).mutex("a").lock().await.unwrap();
    assert!(next.token() > guard.token());
    let lost = guard.lost().await;
    assert!(guard.check().is_err());
    assert_eq!(lost.token, guard.token());
    assert!(matches!(guard.release().await, Err(ReleaseError::Lost(_))));
    next.check().unwrap();
}

#[tokio::test]
async fn a_hold_is_renewed_until_its_longest_time_and_then_lost() {
    let (tenure, _, clock) = running();
    let mutex = tenure.mutex("a").ttl(Duration::from_secs(3));
    let guard = mutex.lock().max_hold(Duration::from_secs(10)).await.unwrap();
    for _ in 0..18 {
        settle().await;
        clock.advance(Duration::from_millis(500));
        guard.check().unwrap();
    }
    settle().await;
    clock.advance(Duration::from_secs(1));
    assert_eq!(guard.check().unwrap_err().reason, LostReason::MaxHold);
    assert_eq!(guard.lost().await.reason, LostReason::MaxHold);
    clock.advance(Duration::from_secs(1));
    settle().await;
    assert!(mutex.try_lock().await.unwrap().is_some());
}

#[tokio::test]
async fn a_hold_that_lasted_its_longest_is_let_go_although_its_guard_is_kept() {
    let (tenure, store, clock) = running();
    let mutex = tenure.mutex("a").ttl(Duration::from_secs(60));
    let short = Duration::from_secs(1);
    let guard = mutex.lock().max_hold(short).await.unwrap();
    clock.advance(short);
    settle().await;
    let next = mutex.try_lock().await.unwrap().unwrap();
    assert!(next.token() > guard.token());
    assert_eq!(guard.check().unwrap_err().reason, LostReason::MaxHold);
    assert!(matches!(guard.release().await, Err(ReleaseError::Lost(_))));
    next.check().unwrap();
    next.release().await.unwrap();

    // What was to stay taken for longer does.
    let kept = mutex.lock().max_hold(short).hold_at_least(short * 3).await.unwrap();
    clock.advance(short);
    settle().await;
    assert!(store.inspect(kept.name()).await.unwrap().holders[0].lingering);
    assert!(mutex.try_lock().await.unwrap().is_none());
    clock.advance(short * 2);
    assert!(mutex.try_lock().await.unwrap().is_some());
}

#[tokio::test]
async fn a_hold_is_lost_at_its_deadline_when_nothing_renews_it() {
    let (tenure, _stopped, _, clock) = on_manual_clock();
    let guard = tenure.mutex("a").ttl(Duration::from_secs(3)).lock().await.unwrap();
    let deadline = guard.deadline();
    clock.advance(Duration::from_millis(2_900));
    guard.check().unwrap();
    clock.advance(Duration::from_millis(90));
    let lost = guard.check().unwrap_err();
    assert_eq!(lost.reason, LostReason::Deadline);
    assert_eq!(guard.deadline(), deadline);
    assert_eq!(guard.lost().await, lost);
    assert_eq!(guard.remaining(), Duration::ZERO);
}

#[tokio::test]
async fn a_name_held_at_least_so_long_stays_taken_after_its_release() {
    let (tenure, _, clock) = running();
    let mutex = tenure.mutex("nightly").hold_at_least(Duration::from_secs(60));
    mutex.lock().await.unwrap().release().await.unwrap();
    clock.advance(Duration::from_secs(59));
    assert!(mutex.try_lock().await.unwrap().is_none());
    clock.advance(Duration::from_secs(2));
    assert!(mutex.try_lock().await.unwrap().is_some());
}

#[tokio::test]
async fn work_is_dropped_when_the_hold_is_lost() {
    let (tenure, store) = tenure();
    let guard = tenure.mutex("a").ttl(Duration::from_millis(100)).lock().await.unwrap();
    store.evict(guard.name()).await.unwrap();
    let lost = guard.run(std::future::pending::<()>()).await.unwrap_err();
    assert_eq!(lost.token, guard.token());
    assert!(guard.run(async { 7 }).await.is_err());
}

#[tokio::test]
async fn a_lock_left_to_expire_stays_taken_and_is_not_renewed() {
    let (tenure, _, clock) = running();
    let mutex = tenure.mutex("a").ttl(Duration::from_secs(3));
    let rest = mutex.lock().await.unwrap().leave_to_expire();
    assert!(rest > Duration::from_millis(2_900), "{rest:?}");
    for _ in 0..5 {
        assert!(mutex.try_lock().await.unwrap().is_none());
        clock.advance(Duration::from_millis(500));
        settle().await;
    }
    clock.advance(Duration::from_millis(500));
    assert!(mutex.try_lock().await.unwrap().is_some());
}
