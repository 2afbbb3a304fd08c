//! The history of locks.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    Begun, FaultKind, Guard, InspectError, LockName, ManualClock, MemoryStore, Overlap, Store,
    Tenure,
    history::{Ending, HistoryEntry, HistoryFamilies, Retention, SlotTry},
    proto::LostReason,
    schedule::{Period, SlotId},
};

use crate::{
    ends_within,
    flawed::{Flaw, Flawed},
    on_manual_clock, settle,
};

/// The time of day at which the tests begin.
const BEGIN: u64 = 1_800_000_000_000_000;
const SECOND: Duration = Duration::from_secs(1);

fn families() -> HistoryFamilies {
    HistoryFamilies::new([("*", Retention::entries(3).unwrap())]).unwrap()
}

/// A process that keeps a history of all its locks.
fn on<S: Store>(store: S, clock: &ManualClock) -> Tenure {
    let builder = Tenure::builder(Arc::new(store)).clock(Arc::new(clock.clone()));
    let (tenure, engine) = builder.service("shop").history_families(families()).build_inline();
    tokio::spawn(engine);
    tenure
}

fn new() -> (Tenure, MemoryStore, ManualClock) {
    let (_, _, store, clock) = on_manual_clock();
    clock.set_wall(BEGIN);
    (on(store.clone(), &clock), store, clock)
}

async fn history(tenure: &Tenure) -> Vec<HistoryEntry> {
    settle().await;
    tenure.history("nightly").await.unwrap()
}

async fn last(tenure: &Tenure) -> HistoryEntry {
    history(tenure).await.remove(0)
}

async fn lock(tenure: &Tenure) -> Guard {
    tenure.mutex("nightly").lock().await.unwrap()
}

/// Seconds since the tests began.
fn second(at: Option<u64>) -> Option<u64> {
    at.map(|at| (at - BEGIN) / 1_000_000)
}

#[tokio::test]
async fn it_tells_who_held_a_lock_from_when_until_when_and_how_it_ended() {
    let (tenure, _, clock) = new();
    let guard = tenure.mutex("nightly").reason("invoices").lock().await.unwrap();
    let token = guard.token();
    let entry = last(&tenure).await;
    assert_eq!((second(entry.from), entry.until, entry.ended), (Some(0), None, None));
    clock.advance(SECOND);
    guard.set_exit_code(3);
    guard.release().await.unwrap();
    let entry = last(&tenure).await;
    assert_eq!((entry.token, entry.exit_code), (token, Some(3)));
    assert_eq!((second(entry.from), second(entry.until)), (Some(0), Some(1)));
    assert_eq!(entry.ended, Some(Ending::Released));
    let who = (entry.who.service.as_deref(), entry.who.reason.as_deref(), entry.who.pid);
    assert_eq!(who, (Some("shop"), Some("invoices"), Some(std::process::id())));
    drop(lock(&tenure).await);
    drop(lock(&tenure).await);
    let endings: Vec<_> = history(&tenure).await.iter().map(|entry| entry.ended).collect();
    assert_eq!(endings, [Some(Ending::Released); 3], "a guard that is dropped, too");
    drop(lock(&tenure).await);
    assert_eq!(history(&tenure).await.len(), 3, "the last three");
}

#[tokio::test]
async fn a_run_of_a_slot_is_told_with_its_slot_and_its_try_and_no_event_more() {
    let (tenure, store, clock) = new();
    let minutes = || Period::new(60 * SECOND).unwrap();
    let report = tenure.mutex("nightly").once(minutes());
    let run = async || match report.begin().await.unwrap() {
        Begun::Run(run) => run,
        Begun::Skipped(skipped) => panic!("{skipped:?}"),
    };
    let failed = run().await;
    clock.advance(SECOND);
    let entry = last(&tenure).await;
    let expected = |tries| Some(SlotTry::new(SlotId::At(BEGIN), tries));
    assert_eq!((entry.slot, second(entry.from), entry.ended), (expected(1), Some(0), None));
    drop(failed);
    run().await.finish().await.unwrap();
    let told = history(&tenure).await;
    let slots: Vec<_> = told.iter().map(|entry| entry.slot.clone()).collect();
    assert_eq!(slots, [expected(2), expected(1)]);
    let stored = store.read_history(&LockName::new("nightly").unwrap()).await.unwrap();
    assert_eq!(stored.events.len(), 4, "two for each hold");
    drop(lock(&tenure).await);
    assert_eq!(last(&tenure).await.slot, None);
}

/// The one that waits finds the slot finished when it gets the lock. Its hold had no run.
#[tokio::test]
async fn a_hold_with_which_no_run_of_a_slot_began_is_not_told() {
    let (tenure, store, clock) = new();
    let other = on(store, &clock);
    let once = |tenure: &Tenure| tenure.mutex("nightly").once(Period::new(60 * SECOND).unwrap());
    let Begun::Run(run) = once(&tenure).begin().await.unwrap() else { panic!("it is open") };
    let waits = tokio::spawn(async move { once(&other).begin().await });
    settle().await;
    run.finish().await.unwrap();
    assert!(matches!(waits.await.unwrap().unwrap(), Begun::Skipped(_)));
    let told = history(&tenure).await;
    let slots: Vec<_> = told.iter().map(|entry| (entry.slot.is_some(), entry.ended)).collect();
    assert_eq!(slots, [(true, Some(Ending::Released))]);
}

#[tokio::test]
async fn a_run_that_is_replaced_is_told_as_broken_and_why() {
    let (tenure, store, clock) = new();
    let other = on(store, &clock);
    let once = |tenure: &Tenure| tenure.mutex("nightly").once(Period::new(60 * SECOND).unwrap());
    let Begun::Run(long) = once(&tenure).begin().await.unwrap() else { panic!("it is open") };
    let lasts = tokio::spawn(std::future::pending::<()>());
    assert!(!ends_within(60 * SECOND, &lasts, &clock).await);
    let next = tokio::spawn(async move { once(&other).overlap(Overlap::Replace).begin().await });
    assert!(ends_within(5 * SECOND, &next, &clock).await);
    let Begun::Run(_next) = next.await.unwrap().unwrap() else { panic!("it is open") };
    drop(long);
    let told = history(&tenure).await;
    let broken = told.iter().find(|entry| entry.ended == Some(Ending::Broken)).unwrap();
    let by = broken.broken_by.as_ref().unwrap().reason.clone().unwrap();
    assert!(by.starts_with("replaced by the run of the slot 2027-01-15T08:01:00Z on "), "{by}");
    assert_eq!(broken.slot.as_ref().unwrap().slot, SlotId::At(BEGIN));
}

#[tokio::test]
async fn passes_inside_a_process_are_one_entry() {
    let (tenure, _, _) = new();
    let guard = lock(&tenure).await;
    let waiter = tokio::spawn({
        let tenure = tenure.clone();
        async move { lock(&tenure).await }
    });
    settle().await;
    guard.set_exit_code(3);
    guard.release().await.unwrap();
    let passed = waiter.await.unwrap();
    assert_eq!(last(&tenure).await.ended, None);
    passed.release().await.unwrap();
    let told = history(&tenure).await;
    assert_eq!(told.len(), 1, "{told:#?}");
    let told = (told[0].ended, told[0].exit_code);
    assert_eq!(told, (Some(Ending::Released), None), "the last one said nothing of a command");
}

#[tokio::test]
async fn a_loss_and_who_broke_the_lock_are_told() {
    let (tenure, store, clock) = new();
    let other = on(store.clone(), &clock);
    let guard = lock(&tenure).await;
    let seen = other.inspect("nightly").await.unwrap();
    let evicted = other.evict_seen("nightly", &seen).await.unwrap();
    other.record_break(guard.name(), &evicted, Some("it hangs".to_owned()));
    let lost = tokio::spawn(async move { guard.lost().await });
    assert!(ends_within(20 * SECOND, &lost, &clock).await);
    let entry = last(&tenure).await;
    assert_eq!((second(entry.until), entry.ended), (Some(0), Some(Ending::Broken)));
    let by = entry.broken_by.unwrap();
    assert_eq!((by.reason.as_deref(), by.service.as_deref()), (Some("it hangs"), Some("shop")));
}

#[tokio::test]
async fn a_hold_that_ends_by_itself_is_lost_and_its_command_may_still_say_how_it_ended() {
    let (tenure, _, clock) = new();
    let guard = tenure.mutex("nightly").max_hold(SECOND).lock().await.unwrap();
    let lost = tokio::spawn(async move { (guard.lost().await, guard).1 });
    assert!(ends_within(2 * SECOND, &lost, &clock).await);
    let guard = lost.await.unwrap();
    assert_eq!(last(&tenure).await.ended, Some(Ending::Lost(LostReason::MaxHold)));
    guard.set_exit_code(143);
    let entry = last(&tenure).await;
    let told = (entry.ended, entry.exit_code);
    assert_eq!(told, (Some(Ending::Lost(LostReason::MaxHold)), Some(143)));
}

#[tokio::test]
async fn who_says_nothing_is_expired() {
    let (tenure, store, clock) = new();
    let silent = Tenure::builder(Arc::new(store.clone())).clock(Arc::new(clock.clone()));
    let (silent, engine) = silent.history_families(families()).build_inline();
    let engine = tokio::spawn(engine);
    let guard = lock(&silent).await;
    settle().await;
    engine.abort();
    settle().await;
    std::mem::forget(guard);
    clock.advance(40 * SECOND);
    let next = lock(&tenure).await;
    let [_, expired] = &history(&tenure).await[..] else { panic!("two holds") };
    assert_eq!((second(expired.until), expired.ended), (Some(40), Some(Ending::Expired)));
    next.release().await.unwrap();
}

#[tokio::test]
async fn what_is_detached_and_what_is_left_to_expire_is_told() {
    let (tenure, _, _) = new();
    let detached = lock(&tenure).await.detach().await.unwrap();
    assert_eq!(last(&tenure).await.ended, Some(Ending::Detached));
    let attached = tenure.attach(&detached.handle).await.unwrap();
    let _ = attached.leave_to_expire();
    let entry = last(&tenure).await;
    assert_eq!(entry.ended, Some(Ending::Abandoned));
}

#[tokio::test]
async fn a_hold_that_could_not_be_detached_is_released() {
    let (_, _, store, clock) = on_manual_clock();
    let flawed = Flawed::new(store);
    let tenure = on(flawed.clone(), &clock);
    flawed.flaws(|flaws| flaws.take_over = Some(Flaw::Fails(FaultKind::Misconfigured)));
    lock(&tenure).await.detach().await.unwrap_err();
    assert_eq!(last(&tenure).await.ended, Some(Ending::Released));
    let evicted = lock(&tenure).await;
    flawed.flaws(|flaws| flaws.take_over = None);
    flawed.evict(evicted.name()).await.unwrap();
    evicted.detach().await.unwrap_err();
    assert_eq!(last(&tenure).await.ended, Some(Ending::Lost(LostReason::Taken)));
}

#[tokio::test]
async fn a_shutdown_does_not_wait_for_a_store_that_takes_no_history() {
    let (_, _, store, clock) = on_manual_clock();
    let flawed = Flawed::new(store);
    let tenure = on(flawed.clone(), &clock);
    flawed.flaws(|flaws| flaws.history = Some(Flaw::Silent));
    lock(&tenure).await.release().await.unwrap();
    let shuts_down = tokio::spawn(async move { tenure.shutdown(60 * SECOND).await });
    assert!(ends_within(5 * SECOND, &shuts_down, &clock).await);
    shuts_down.await.unwrap().unwrap();
}

#[tokio::test]
async fn nothing_is_written_of_names_without_a_history_nor_of_notes() {
    let (_, engine, store, clock) = on_manual_clock();
    drop(engine);
    let only = HistoryFamilies::new([("job:*", Retention::entries(3).unwrap())]).unwrap();
    let builder = Tenure::builder(Arc::new(store.clone())).clock(Arc::new(clock));
    let (tenure, engine) = builder.history_families(only).build_inline();
    tokio::spawn(engine);
    for name in ["nightly", "job:x~note", "job:x"] {
        let held = tenure.mutex(name).lock().await.unwrap();
        let seen = tenure.inspect(name).await.unwrap();
        tenure.evict_seen(name, &seen).await.unwrap();
        drop(held);
        settle().await;
        let stored = store.read_history(&LockName::new(name).unwrap()).await.unwrap();
        assert_eq!(stored.events.is_empty(), name != "job:x", "{name}");
    }
}

/// The history is written beside the lock: whatever becomes of it, the lock is as without it.
#[tokio::test]
async fn a_store_that_takes_no_history_costs_the_entries_and_nothing_else() {
    let silent = || Flaw::Silent;
    for flaw in
        [Flaw::Fails(FaultKind::Misconfigured), Flaw::Fails(FaultKind::Unreachable), silent()]
    {
        let (_, _, store, clock) = on_manual_clock();
        let flawed = Flawed::new(store);
        let tenure = on(flawed.clone(), &clock);
        flawed.flaws(|flaws| flaws.history = Some(flaw.clone()));
        for _ in 0..5_000 {
            lock(&tenure).await.release().await.unwrap();
        }
        let flushes = tokio::spawn({
            let tenure = tenure.clone();
            async move { tenure.flush_history().await }
        });
        // What waits is bounded, and is given up bit by bit.
        assert!(ends_within(600 * SECOND, &flushes, &clock).await, "{flaw:?}");
        flawed.flaws(|flaws| flaws.history = None);
        drop(lock(&tenure).await);
        let entry = last(&tenure).await;
        assert_eq!(entry.ended, Some(Ending::Released), "it goes on");
    }
}

#[tokio::test]
async fn what_waits_to_be_written_is_written_before_a_shutdown_ends() {
    let (_, _, store, clock) = on_manual_clock();
    let tenure = on(store.clone(), &clock);
    drop(lock(&tenure).await);
    tenure.shutdown(SECOND).await.unwrap();
    let stored = store.read_history(&LockName::new("nightly").unwrap()).await.unwrap();
    assert_eq!(stored.events.len(), 2);
}

#[tokio::test]
async fn a_store_that_keeps_none_says_so() {
    let flawed = Flawed::new(MemoryStore::new()).without(|can| can.history = false);
    let tenure = on(flawed, &ManualClock::new());
    lock(&tenure).await.release().await.unwrap();
    let error = tenure.history("nightly").await.unwrap_err();
    assert!(matches!(error, InspectError::Store(_)));
    assert!(format!("{error:#}").contains("keeps no history"), "{error:#}");
}
