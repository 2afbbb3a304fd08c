//! The multi-lock, where a store grants several names in one step.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use tenure_core::{
    AcquireError, All, FaultKind, LockName, ManualClock, MemoryStore, Owner, Store, Tenure,
    proto::{
        all::MOST,
        queue::{Ask, Intent, Kind, Mode, Order},
    },
};

use crate::{
    STEP, ends_within,
    flawed::{Flawed, on_flawed},
    settle,
};

const SOON: Duration = Duration::from_secs(5);
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

fn flawed() -> (Tenure, Flawed, MemoryStore) {
    let memory = MemoryStore::new();
    let store = Flawed::new(memory.clone());
    (Tenure::new(Arc::new(store.clone())), store, memory)
}

async fn holders(store: &MemoryStore, name: &str) -> usize {
    store.inspect(&LockName::new(name).unwrap()).await.unwrap().holders.len()
}

async fn are_free(store: &MemoryStore, names: &[&str]) {
    for name in names {
        tokio::time::timeout(SOON, async {
            while holders(store, name).await > 0 {
                tokio::task::yield_now().await;
            }
        })
        .await
        .unwrap_or_else(|_| panic!("{name} is still taken"));
    }
}

#[tokio::test]
async fn free_locks_of_one_store_take_one_call() {
    let (tenure, store, memory) = flawed();
    let guard = tenure.all(NAMES).lock().await.unwrap();
    assert_eq!(store.asks(), [0, 1]);
    for (part, name) in guard.parts().iter().zip(NAMES) {
        let seen = memory.inspect(&LockName::new(name).unwrap()).await.unwrap();
        assert_eq!(seen.holders[0].token, Some(part.token()));
    }
    guard.release().await.unwrap();
    tenure.all(NAMES).try_lock().await.unwrap().unwrap().release().await.unwrap();
    assert_eq!(store.asks(), [0, 2]);
    are_free(&memory, &NAMES).await;
}

#[tokio::test]
async fn one_lock_and_a_store_that_cannot_are_asked_for_one_by_one() {
    let (tenure, store, _) = flawed();
    tenure.all(["a"]).lock().await.unwrap().release().await.unwrap();
    assert_eq!(store.asks(), [1, 0]);
    let store = Flawed::new(MemoryStore::new()).without(|can| can.together = false);
    let tenure = Tenure::new(Arc::new(store.clone()));
    tenure.all(NAMES).lock().await.unwrap().release().await.unwrap();
    tenure.all(NAMES).try_lock().await.unwrap().unwrap().release().await.unwrap();
    assert_eq!(store.asks(), [8, 0]);
}

#[tokio::test]
async fn each_store_is_asked_for_its_own() {
    let ((one, first, _), (other, second, _)) = (flawed(), flawed());
    let apart = [one.mutex("a"), one.mutex("b"), other.mutex("c"), other.mutex("d")];
    let guard = All::of(apart).lock().await.unwrap();
    assert_eq!(guard.tokens().count(), 4);
    assert_eq!((first.asks(), second.asks()), ([0, 1], [0, 1]));
}

#[tokio::test]
async fn a_try_that_finds_one_busy_asks_once_and_takes_none() {
    let (tenure, store, memory) = flawed();
    let _busy = Tenure::new(Arc::new(memory.clone())).mutex("c").lock().await.unwrap();
    assert!(tenure.all(NAMES).try_lock().await.unwrap().is_none());
    let error = tenure.all(NAMES).lock().wait(Duration::ZERO).await.unwrap_err();
    let AcquireError::TimedOut(end) = error else { panic!("{error:#}") };
    assert_eq!((end.lock.name.as_str(), end.holder.is_some()), ("c", true));
    assert_eq!(store.asks(), [0, 2]);
    for free in ["a", "b", "d"] {
        assert_eq!(holders(&memory, free).await, 0);
    }
}

#[tokio::test]
async fn a_wait_goes_on_one_by_one_and_is_told_who_has_it() {
    let (tenure, store, memory) = flawed();
    let busy = Tenure::new(Arc::new(memory.clone())).mutex("c").lock().await.unwrap();
    let told = Arc::new(AtomicU32::new(0));
    let tells = told.clone();
    let all = tenure.all(NAMES).lock().on_busy(move |busy| {
        assert!(busy.holder.is_some());
        tells.fetch_add(1, Ordering::Relaxed);
    });
    let waiting = tokio::spawn(all.into_future());
    while crate::waiters(&memory, "c").await == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!((store.asks(), told.load(Ordering::Relaxed)), ([3, 1], 1));
    assert_eq!(holders(&memory, "d").await, 0, "those behind it are free for others");
    busy.release().await.unwrap();
    waiting.await.unwrap().unwrap().release().await.unwrap();
    are_free(&memory, &NAMES).await;
}

#[tokio::test]
async fn what_this_process_has_is_not_asked_for() {
    let (tenure, store, memory) = flawed();
    let here = tenure.mutex("c").lock().await.unwrap();
    assert!(tenure.all(NAMES).try_lock().await.unwrap().is_none());
    assert_eq!(store.asks(), [1, 0]);
    let waiting = tokio::spawn(tenure.all(NAMES).lock().into_future());
    while holders(&memory, "b").await == 0 {
        tokio::task::yield_now().await;
    }
    settle().await;
    assert_eq!((store.asks(), holders(&memory, "d").await), ([3, 0], 0));
    // It is passed on inside the process, so the store is asked for the last alone.
    here.release().await.unwrap();
    let guard = waiting.await.unwrap().unwrap();
    assert_eq!(store.asks(), [4, 0]);
    // And so is what was granted together.
    guard.release().await.unwrap();
    let guard = tenure.all(NAMES).lock().await.unwrap();
    let next = tokio::spawn(tenure.mutex("b").lock().into_future());
    settle().await;
    guard.release().await.unwrap();
    next.await.unwrap().unwrap().check().unwrap();
    assert_eq!(store.asks(), [4, 1]);
}

#[tokio::test]
async fn an_answer_that_is_lost_counts_as_acquired_for_each() {
    let (tenure, store, memory) = flawed();
    store.lose_answers(1);
    let error = tenure.all(NAMES).try_lock().await.unwrap_err();
    assert!(matches!(error, AcquireError::InDoubt { .. }), "{error:#}");
    are_free(&memory, &NAMES).await;
    assert_eq!(store.asks(), [0, 1]);
    tenure.shutdown(SOON).await.unwrap();
}

#[tokio::test]
async fn who_does_not_wait_is_told_of_a_failure_at_once() {
    let (tenure, store, memory) = flawed();
    store.lose_answers(1);
    let error = tenure.all(NAMES).lock().wait(Duration::ZERO).await.unwrap_err();
    assert!(matches!(error, AcquireError::InDoubt { .. }), "{error:#}");
    are_free(&memory, &NAMES).await;
    assert_eq!(store.asks(), [0, 1]);
}

#[tokio::test]
async fn a_failure_that_comes_after_the_wait_is_the_last_word() {
    let clock = ManualClock::new();
    let memory = MemoryStore::with_clock(Arc::new(clock.clone()));
    let slow = Flawed::new(memory.clone()).slow(clock.clone(), SOON);
    slow.lose_answers(1);
    let builder = Tenure::builder(Arc::new(slow.clone())).clock(Arc::new(clock));
    let (tenure, engine) = builder.build_inline();
    tokio::spawn(engine);
    let error = tenure.all(NAMES).lock().wait(SOON / 2).await.unwrap_err();
    assert!(matches!(error, AcquireError::InDoubt { .. }), "{error:#}");
    are_free(&memory, &NAMES).await;
    assert_eq!(slow.asks(), [0, 1]);
}

#[tokio::test]
async fn a_store_that_says_nothing_is_heard_for_no_longer_than_the_wait() {
    let (tenure, store, clock) = on_flawed();
    store.fall_silent(true);
    let waiting = tokio::spawn(tenure.all(NAMES).lock().wait(STEP * 2).into_future());
    assert!(!ends_within(STEP, &waiting, &clock).await);
    assert!(ends_within(STEP, &waiting, &clock).await);
    let error = waiting.await.unwrap().unwrap_err();
    assert!(matches!(error, AcquireError::InDoubt { .. }), "{error:#}");
}

#[tokio::test]
async fn a_wait_outlives_an_answer_that_is_lost() {
    let (tenure, store, memory) = flawed();
    store.lose_answers(1);
    let guard = tenure.all(NAMES).ttl(Duration::from_secs(60)).lock().wait(SOON).await.unwrap();
    guard.check().unwrap();
    guard.release().await.unwrap();
    are_free(&memory, &NAMES).await;
    assert_eq!(store.asks()[1], 1);
}

#[tokio::test]
async fn a_grant_that_is_late_for_one_is_none_for_all() {
    let clock = ManualClock::new();
    let memory = MemoryStore::with_clock(Arc::new(clock.clone()));
    let slow = Flawed::new(memory.clone()).slow(clock.clone(), Duration::from_secs(2));
    let builder = Tenure::builder(Arc::new(slow)).clock(Arc::new(clock));
    let (tenure, engine) = builder.build_inline();
    tokio::spawn(engine);
    let ttl = |name: &str, ttl| tenure.mutex(name).ttl(Duration::from_secs(ttl));
    let error = All::of([ttl("a", 600), ttl("b", 1), ttl("c", 600)]).try_lock().await.unwrap_err();
    assert!(matches!(error, AcquireError::InDoubt { .. }), "{error:#}");
    are_free(&memory, &["a", "b", "c"]).await;
    All::of([ttl("a", 600), ttl("b", 60)]).try_lock().await.unwrap().unwrap().check().unwrap();
}

#[tokio::test]
async fn no_store_is_asked_for_no_names_too_many_or_one_twice() {
    let store = MemoryStore::new();
    let asked = async |names: Vec<usize>| {
        let ask = |(number, name): (usize, usize)| {
            let owner = Owner::from_bytes([u8::try_from(number).unwrap(); 16]);
            let ask = Ask {
                owner,
                kind: Kind::Mutex,
                mode: Mode::Exclusive,
                order: Order::Barging,
                intent: Intent::Try,
                ttl: SOON,
                label: "".into(),
            };
            (LockName::new(name.to_string()).unwrap(), ask)
        };
        let asks: Vec<_> = names.into_iter().enumerate().map(ask).collect();
        store.acquire_together(&asks).await
    };
    for refused in [vec![], (0..=MOST).collect(), vec![1, 2, 1]] {
        let fault = asked(refused).await.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    }
    assert!(store.list("", 1).await.unwrap().names.is_empty());
    asked((0..MOST).collect()).await.unwrap();
}

#[tokio::test]
async fn a_grace_that_is_said_for_all_goes_before_that_of_a_part() {
    let (tenure, _, memory) = flawed();
    let parts = ["a", "b"].map(|name| tenure.mutex(name).ttl(SOON).grace(SOON));
    let guard = All::of(parts).lock().grace(SOON * 2).await.unwrap();
    for name in ["a", "b"] {
        let seen = memory.inspect(&LockName::new(name).unwrap()).await.unwrap();
        assert!(seen.holders[0].left.unwrap() > SOON * 2, "{seen:?}");
    }
    assert!(guard.remaining() <= SOON);
}

#[tokio::test]
async fn each_part_has_the_settings_of_its_own() {
    let (tenure, store, memory) = flawed();
    let parts = [
        tenure.mutex("a").ttl(Duration::from_secs(1)).label("first"),
        tenure.mutex("b").fair().grace(Duration::from_secs(5)),
    ];
    let guard = All::of(parts).lock().await.unwrap();
    assert_eq!(store.asks(), [0, 1]);
    let seen = async |name: &str| {
        let seen = memory.inspect(&LockName::new(name).unwrap()).await.unwrap();
        let holder = seen.holders[0].clone();
        (holder.label, holder.left.unwrap())
    };
    let ((label, short), (_, long)) = (seen("a").await, seen("b").await);
    assert!(label == "first" && short <= Duration::from_secs(1), "{label} {short:?}");
    assert!(long > Duration::from_secs(30), "{long:?}");
    assert!(guard.remaining() <= Duration::from_secs(1));
    // The fair one is not passed on inside the process: the store is asked for it.
    let next = tokio::spawn(tenure.mutex("b").fair().lock().into_future());
    while crate::waiters(&memory, "b").await == 0 {
        tokio::task::yield_now().await;
    }
    guard.release().await.unwrap();
    next.await.unwrap().unwrap().release().await.unwrap();
}
