//! Hand-over between the tasks of one process.

use std::{
    future::IntoFuture,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt;
use tenure_core::{
    AcquireError, Clock, LockName, ManualClock, MemoryStore, Store, Tenure, Timestamp,
};
use tokio::task::{JoinHandle, JoinSet};

use crate::{flawed::Flawed, on_count::OnCount, on_manual_clock, running, settle, waiters};

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

const TTL: Duration = Duration::from_secs(30);

/// Two processes on one store.
async fn two_processes() -> (Tenure, Tenure, MemoryStore, ManualClock) {
    let (tenure, store, clock) = running();
    let builder = Tenure::builder(Arc::new(store.clone())).clock(Arc::new(clock.clone()));
    let (other, engine) = builder.build_inline();
    tokio::spawn(engine);
    settle().await;
    (tenure, other, store, clock)
}

/// A task that acquires the lock and lets it go.
fn visitor(tenure: &Tenure) -> JoinHandle<()> {
    let lock = tenure.mutex("a").ttl(TTL).lock().into_future();
    tokio::spawn(async move { lock.await.unwrap().release().await.unwrap() })
}

/// How long it takes until `task` is done.
async fn time_of(task: JoinHandle<()>, clock: &ManualClock) -> Duration {
    let began = clock.now();
    settle().await;
    while !task.is_finished() {
        assert!(clock.now().since(began) < 3 * TTL, "it waits for ever");
        clock.advance(Duration::from_millis(50));
        settle().await;
    }
    task.await.unwrap();
    clock.now().since(began)
}

fn window(store: &MemoryStore) -> Duration {
    store.capabilities().claim_window
}

#[tokio::test]
async fn a_hold_passed_to_a_future_that_is_not_polled_goes_on_to_the_store() {
    let (tenure, other, store, clock) = two_processes().await;
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    let mut waiting = Box::pin(tenure.mutex("a").ttl(TTL).lock().into_future());
    assert!((&mut waiting).now_or_never().is_none());
    let theirs = visitor(&other);
    settle().await;
    guard.release().await.unwrap();
    assert!(time_of(theirs, &clock).await <= window(&store));
    // It queues again when it is polled at last, and holds nothing that others hold.
    let again = other.mutex("a").lock().await.unwrap();
    assert!((&mut waiting).now_or_never().is_none());
    again.release().await.unwrap();
    waiting.await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_hold_passed_to_a_future_that_is_not_polled_goes_on_to_the_next_task() {
    let (tenure, _, store, clock) = two_processes().await;
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    let mut waiting = Box::pin(tenure.mutex("a").ttl(TTL).lock().into_future());
    assert!((&mut waiting).now_or_never().is_none());
    let next = visitor(&tenure);
    settle().await;
    guard.release().await.unwrap();
    assert!(time_of(next, &clock).await <= window(&store));
    waiting.await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_lead_given_to_a_future_that_is_not_polled_goes_on_with_what_it_carries() {
    let (tenure, other, store, clock) = two_processes().await;
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    let mut waiting = Box::pin(tenure.mutex("a").ttl(TTL).lock().into_future());
    assert!((&mut waiting).now_or_never().is_none());
    let theirs = visitor(&other);
    settle().await;
    // The turn is over, so the head goes on, with the lease that is to be let go.
    clock.advance(Duration::from_millis(100));
    guard.release().await.unwrap();
    let next = visitor(&tenure);
    assert!(time_of(theirs, &clock).await <= window(&store));
    assert!(time_of(next, &clock).await <= window(&store));
    waiting.await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn what_is_handed_over_and_never_taken_leaves_nothing() {
    for turn_is_over in [false, true] {
        let (tenure, _, store, clock) = two_processes().await;
        let lock = tenure.mutex("a").ttl(TTL).hold_at_least(TTL);
        let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
        let mut waiting = Box::pin(lock.lock().into_future());
        assert!((&mut waiting).now_or_never().is_none());
        clock.advance(Duration::from_millis(if turn_is_over { 100 } else { 1 }));
        guard.release().await.unwrap();
        clock.advance(window(&store));
        settle().await;
        let left = store.inspect(&LockName::new("a").unwrap()).await.unwrap();
        assert!(left.holders.is_empty(), "{left:?}");
        drop(waiting);
        tenure.shutdown(Duration::ZERO).await.unwrap();
    }
}

#[tokio::test]
async fn a_future_that_asks_the_store_and_is_not_polled_does_not_hold_up_its_process() {
    let (tenure, other, store, clock) = two_processes().await;
    let guard = other.mutex("a").ttl(TTL).lock().await.unwrap();
    let mut waiting = Box::pin(tenure.mutex("a").ttl(TTL).lock().into_future());
    assert!((&mut waiting).now_or_never().is_none());
    assert_eq!(waiters(&store, "a").await, 1);
    let next = visitor(&tenure);
    settle().await;
    guard.release().await.unwrap();
    assert!(time_of(next, &clock).await < TTL / 3);
    waiting.await.unwrap().release().await.unwrap();
}

/// Nobody waits behind it, so the engine does not look.
#[tokio::test]
async fn a_future_that_is_not_polled_is_not_in_the_way_of_who_only_tries() {
    let (_, _, store, clock) = on_manual_clock();
    let flawed = Arc::new(Flawed::new(store.clone()));
    let (tenure, engine) =
        Tenure::builder(flawed.clone()).clock(Arc::new(clock.clone())).build_inline();
    tokio::spawn(engine);
    flawed.fall_silent(true);
    let mut waiting = Box::pin(tenure.mutex("a").ttl(TTL).lock().into_future());
    assert!((&mut waiting).now_or_never().is_none());
    flawed.fall_silent(false);
    assert!(tenure.mutex("a").try_lock().await.unwrap().is_none(), "it may still go on");
    clock.advance(TTL + window(&store));
    settle().await;
    let guard = tenure.mutex("a").try_lock().await.unwrap();
    guard.expect("nobody has it").release().await.unwrap();
    let all = tenure.all(["a", "b"]).try_lock().await.unwrap();
    all.expect("nobody has them").release().await.unwrap();
    drop(waiting);
}

#[tokio::test]
async fn a_future_whose_hold_went_on_takes_nothing_from_who_has_it_now() {
    // So short that the lease goes on inside the process, whose turn is not over.
    const WINDOW: Duration = Duration::from_millis(10);
    let (_, _, store, clock) = on_manual_clock();
    let flawed = Flawed::new(store.clone()).without(|can| can.claim_window = WINDOW);
    let builder = Tenure::builder(Arc::new(flawed)).clock(Arc::new(clock.clone()));
    let (tenure, engine) = builder.build_inline();
    tokio::spawn(engine);
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    let mut waiting = Box::pin(tenure.mutex("a").ttl(TTL).lock().into_future());
    assert!((&mut waiting).now_or_never().is_none());
    let next = tokio::spawn(tenure.mutex("a").ttl(TTL).lock().into_future());
    settle().await;
    guard.release().await.unwrap();
    clock.advance(WINDOW);
    let next = next.await.unwrap().unwrap();
    assert_eq!(next.token().pass(), 2);
    drop(waiting);
    settle().await;
    next.check().unwrap();
    assert!(store.inspect(next.name()).await.unwrap().is_held());
    next.release().await.unwrap();
}

#[test]
fn a_lock_handed_to_a_task_that_is_dropped_just_then_goes_on_at_once() {
    for another_waits in [false, true] {
        let passed = OnCount::of("tenure_passes_total");
        passed.run(async {
            // Neither the engine nor time helps.
            let (tenure, _stopped, store, _) = on_manual_clock();
            let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
            let name = guard.name().clone();
            let mut waiting = Box::pin(tenure.mutex("a").ttl(TTL).lock().into_future());
            assert!((&mut waiting).now_or_never().is_none());
            let lock = tenure.mutex("a").ttl(TTL).lock();
            let another = another_waits.then(|| tokio::spawn(lock.into_future()));
            settle().await;
            passed.next_time(move || drop(waiting));
            guard.release().await.unwrap();
            settle().await;
            match another {
                Some(next) => {
                    next.now_or_never().unwrap().unwrap().unwrap().check().map(drop).unwrap()
                }
                None => assert!(!store.inspect(&name).await.unwrap().is_held()),
            }
        });
    }
}

#[tokio::test]
async fn a_task_that_asks_the_store_does_so_for_all_of_its_process_however_long_it_waits() {
    let (tenure, other, store, clock) = two_processes().await;
    let guard = other.mutex("a").ttl(TTL).lock().await.unwrap();
    let visitors = [visitor(&tenure), visitor(&tenure)];
    while clock.now().since(Timestamp::ZERO) < 3 * TTL {
        settle().await;
        assert_eq!(waiters(&store, "a").await, 1);
        clock.advance(Duration::from_millis(100));
    }
    guard.release().await.unwrap();
    for visitor in visitors {
        visitor.await.unwrap();
    }
}

#[tokio::test]
async fn a_hold_that_was_handed_over_and_lasts_its_longest_is_let_go_in_time() {
    const LONGEST: Duration = Duration::from_millis(100);
    let (tenure, _, store, clock) = two_processes().await;
    assert!(LONGEST < window(&store));
    let first = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    let short = tenure.mutex("a").ttl(TTL).max_hold(LONGEST).lock().into_future();
    let short = tokio::spawn(short);
    settle().await;
    first.release().await.unwrap();
    let guard = short.await.unwrap().unwrap();
    assert_eq!(guard.token().pass(), 1);
    settle().await;
    clock.advance(LONGEST);
    settle().await;
    // Its guard is still there.
    assert!(guard.check().is_err());
    assert!(!store.inspect(guard.name()).await.unwrap().is_held());
}

#[tokio::test]
async fn a_task_that_does_not_wait_and_takes_over_a_place_leaves_none() {
    let (tenure, store, clock) = running();
    let other = Tenure::new(Arc::new(store.clone()));
    let held = other.mutex("a").ttl(Duration::from_secs(600)).lock().await.unwrap();
    let mut first = Box::pin(tenure.mutex("a").lock().into_future());
    for _ in 0..5 {
        assert!((&mut first).now_or_never().is_none());
        settle().await;
    }
    assert_eq!(waiters(&store, "a").await, 1);
    // The first gives up just when the second has queued behind it.
    let first = std::sync::Mutex::new(Some(first));
    let second = tenure.mutex("a").lock().wait(Duration::ZERO);
    let second = second.on_busy(move |_| drop(first.lock().unwrap().take()));
    assert!(second.await.is_err());
    settle().await;
    clock.advance(Duration::from_millis(100));
    settle().await;
    assert_eq!(waiters(&store, "a").await, 0);
    drop(held);
}

#[tokio::test]
async fn a_guard_that_was_lost_long_ago_lets_nobody_of_its_process_ask_the_store() {
    let (tenure, store, clock) = running();
    let lost = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    store.evict(lost.name()).await.unwrap();
    clock.advance(TTL);
    settle().await;
    lost.check().unwrap_err();
    let held = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    let waiting = tokio::spawn(tenure.mutex("a").ttl(TTL).lock().into_future());
    settle().await;
    drop(lost);
    settle().await;
    assert_eq!(waiters(&store, "a").await, 0, "it waits here, for the task that holds it");
    held.release().await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().token().pass(), 1);
}

#[tokio::test]
async fn a_reader_that_was_a_writer_passes_its_lease_to_nobody() {
    let (tenure, store, _clock) = running();
    let lock = tenure.rwlock("a").ttl(TTL);
    let reader = lock.write().await.unwrap().downgrade().await.unwrap();
    store.evict(reader.name()).await.unwrap();
    let writer = lock.write().await.unwrap();
    let waiting = tokio::spawn(lock.write().into_future());
    settle().await;
    drop(reader);
    settle().await;
    writer.check().unwrap();
    assert!(!waiting.is_finished(), "two writers");
    waiting.abort();
}

#[test]
fn a_release_is_no_loss_because_the_next_task_is_gone() {
    let passed = OnCount::of("tenure_passes_total");
    passed.run(async {
        let (tenure, _stopped, _store, clock) = on_manual_clock();
        let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
        let mut waiting = Box::pin(tenure.mutex("a").ttl(TTL).lock().into_future());
        assert!((&mut waiting).now_or_never().is_none());
        passed.next_time(move || {
            drop(waiting);
            clock.advance(TTL);
        });
        guard.release().await.unwrap();
    });
}
