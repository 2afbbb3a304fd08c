//! The engine: how long it waits for an answer, and when it is woken.

use std::{
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use tenure_core::{FaultKind, LostReason, ManualClock, Store, Tenure};

use crate::{
    flawed::{Call, Flaw, on_flawed},
    on_manual_clock, settle,
};

const TTL: Duration = Duration::from_secs(4);
const STEP: Duration = Duration::from_millis(100);
/// Less than the quarter of a ttl that a call may take.
const SLOWLY: Duration = Duration::from_millis(800);

async fn after(length: Duration, clock: &ManualClock) {
    for _ in 0..length.as_millis() / STEP.as_millis() {
        clock.advance(STEP);
        settle().await;
    }
}

#[tokio::test]
async fn a_renewal_that_is_answered_slowly_counts() {
    let (tenure, store, clock) = on_flawed();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    store.flaws(|flaws| flaws.renew = Some(Flaw::Late(clock.clone(), SLOWLY)));
    after(TTL * 3, &clock).await;
    guard.check().unwrap();
}

#[tokio::test]
async fn a_renewal_that_is_never_answered_is_tried_again_before_the_lease_ends() {
    let (tenure, store, clock) = on_flawed();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    store.flaws(|flaws| flaws.renew = Some(Flaw::Silent));
    after(TTL / 2, &clock).await;
    store.flaws(|flaws| flaws.renew = None);
    after(TTL * 3, &clock).await;
    guard.check().unwrap();
}

#[tokio::test]
async fn a_holder_is_told_why_its_hold_was_not_renewed() {
    let (tenure, store, clock) = on_flawed();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    for kind in [FaultKind::Misconfigured, FaultKind::Unreachable] {
        store.flaws(|flaws| flaws.renew = Some(Flaw::Fails(kind)));
        after(TTL / 2, &clock).await;
        guard.check().unwrap();
        store.flaws(|flaws| flaws.renew = None);
        after(TTL / 2, &clock).await;
    }
    store.flaws(|flaws| flaws.renew = Some(Flaw::Fails(FaultKind::Full)));
    let (lost, ()) = tokio::join!(guard.lost(), after(TTL * 2, &clock));
    for lost in [lost, guard.check().unwrap_err()] {
        let fault = lost.fault().unwrap();
        assert_eq!((lost.reason, fault.kind()), (LostReason::Deadline, FaultKind::Full));
        assert!(format!("{lost:#}").contains(fault.message()), "{lost:#}");
    }
}

#[tokio::test]
async fn what_failed_before_is_not_why_a_hold_is_lost_later() {
    let (tenure, store, clock) = on_flawed();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    store.flaws(|flaws| flaws.renew = Some(Flaw::Fails(FaultKind::Unreachable)));
    after(TTL / 2, &clock).await;
    store.flaws(|flaws| flaws.renew = None);
    after(TTL * 2, &clock).await;
    // Nothing failed this time: the process stood still.
    clock.advance(TTL * 2);
    let lost = guard.check().unwrap_err();
    assert_eq!((lost.reason, lost.fault().is_none()), (LostReason::Deadline, true));
}

#[tokio::test]
async fn holds_that_were_granted_one_by_one_are_renewed_by_few_calls() {
    let (tenure, store, clock) = on_flawed();
    let ttl = Duration::from_secs(30);
    let mut guards = Vec::new();
    for number in 0..100 {
        guards.push(tenure.mutex(format!("lock {number}")).ttl(ttl).lock().await.unwrap());
        after(STEP, &clock).await;
    }
    let before = store.renewals();
    after(ttl / 3, &clock).await;
    let calls = store.renewals() - before;
    assert!((15..=25).contains(&calls), "100 holds are renewed by {calls} calls");
    assert!(guards.iter().all(|guard| guard.check().is_ok()));
}

#[tokio::test]
async fn a_release_that_arrives_slowly_is_waited_for() {
    let (tenure, store, clock) = on_flawed();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    let name = guard.name().clone();
    store.flaws(|flaws| flaws.release = Some(Flaw::Late(clock.clone(), SLOWLY)));
    drop(guard);
    settle().await;
    after(SLOWLY - STEP, &clock).await;
    assert_eq!(store.inspect(&name).await.unwrap().holders.len(), 1);
    after(STEP, &clock).await;
    assert!(store.inspect(&name).await.unwrap().holders.is_empty());
}

/// Runs the engine, and counts how often it is woken.
fn count_wake_ups(engine: impl Future<Output = ()> + Send + 'static) -> Arc<AtomicU32> {
    let woken = Arc::new(AtomicU32::new(0));
    let count = woken.clone();
    let mut engine = Box::pin(engine);
    tokio::spawn(poll_fn(move |context| {
        count.fetch_add(1, Ordering::Relaxed);
        engine.as_mut().poll(context)
    }));
    woken
}

async fn acquire_and_release(tenure: &Tenure) {
    let guard = tenure.mutex("a").ttl(TTL).max_hold(TTL / 4).lock().await.unwrap();
    guard.release().await.unwrap();
}

#[tokio::test]
async fn a_stream_of_short_holds_does_not_wake_the_engine() {
    let (tenure, engine, _, _) = on_manual_clock();
    let woken = count_wake_ups(engine);
    acquire_and_release(&tenure).await;
    settle().await;
    let at_first = woken.load(Ordering::Relaxed);
    for _ in 0..20 {
        acquire_and_release(&tenure).await;
        settle().await;
    }
    assert_eq!(woken.load(Ordering::Relaxed), at_first);
}

#[tokio::test]
async fn the_engine_looks_once_for_a_hold_that_is_gone_by_then() {
    let (tenure, engine, _, clock) = on_manual_clock();
    let woken = count_wake_ups(engine);
    acquire_and_release(&tenure).await;
    settle().await;
    let at_first = woken.load(Ordering::Relaxed);
    // To the very moment that it had planned to look at.
    clock.advance(TTL / 4);
    settle().await;
    assert_eq!(woken.load(Ordering::Relaxed), at_first + 1);
}

/// Each call that is under way takes room, and there may be as many holds as slots.
#[tokio::test]
async fn many_holds_that_are_dropped_at_once_are_released_a_part_at_a_time() {
    let (tenure, store, clock) = on_flawed();
    let mut held = Vec::new();
    for number in 0..2_500 {
        held.push(tenure.mutex(number.to_string()).ttl(TTL * 4).lock().await.unwrap());
    }
    store.flaws(|flaws| flaws.release = Some(Flaw::Silent));
    let released = |calls: Vec<Call>| calls.iter().filter(|call| **call == Call::Release).count();
    released(store.diary());
    drop(held);
    settle().await;
    let first = released(store.diary());
    assert!((1..=1_024).contains(&first), "{first}");
    store.flaws(|flaws| flaws.release = None);
    after(TTL * 2, &clock).await;
    assert!(released(store.diary()) >= 2_500);
    tenure.shutdown(Duration::ZERO).await.unwrap();
}
