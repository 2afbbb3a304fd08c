//! Once per slot.

mod refused;

use std::{sync::Arc, time::Duration};

use tenure_core::{
    Begun, FaultKind, LostReason, ManualClock, MemoryStore, Once, OnceError, Overlap, SlotRun,
    Tenure,
    schedule::{Mark, NamedSlot, Period, Skipped, Slot},
};
use tokio::task::JoinHandle;

use crate::{
    ends_within,
    flawed::{Flaw, on_flawed},
    on_manual_clock, running, settle, waiters,
};

const MINUTE: Duration = Duration::from_secs(60);
/// The time of day at which the tests begin: in the middle of a minute, so that nobody is early.
const BEGIN: u64 = 1_800_000_030_000_000;

fn minutes() -> Period {
    Period::new(MINUTE).unwrap()
}

/// Several processes on one store.
fn two() -> (Tenure, Tenure, MemoryStore, ManualClock) {
    let (one, store, clock) = running();
    clock.set_wall(BEGIN);
    let builder = Tenure::builder(Arc::new(store.clone())).clock(Arc::new(clock.clone()));
    let (other, engine) = builder.build_inline();
    tokio::spawn(engine);
    (one, other, store, clock)
}

/// Lets time pass in steps that are shorter than those of renewals.
async fn pass(length: Duration, clock: &ManualClock) {
    let nothing = tokio::spawn(std::future::pending::<()>());
    assert!(!ends_within(length, &nothing, clock).await);
    nothing.abort();
}

fn report(tenure: &Tenure) -> Once {
    tenure.mutex("report").once(minutes())
}

async fn run(once: &Once) -> SlotRun {
    match once.begin().await.unwrap() {
        Begun::Run(run) => run,
        Begun::Skipped(skipped) => panic!("{skipped:?}"),
    }
}

async fn skips(once: &Once) -> Skipped {
    match once.begin().await.unwrap() {
        Begun::Run(run) => panic!("{run:?}"),
        Begun::Skipped(skipped) => skipped.why,
    }
}

fn begin(once: &Once) -> JoinHandle<Result<Begun, OnceError>> {
    let once = once.clone();
    tokio::spawn(async move { once.begin().await })
}

#[tokio::test]
async fn a_finished_slot_is_skipped_and_the_next_one_runs() {
    let (one, other, _, clock) = two();
    let first = run(&report(&one)).await;
    let (token, start) = (first.token(), first.slot().starts());
    assert_eq!((start, first.tries()), (Some(BEGIN - 30_000_000), 1));
    first.finish().await.unwrap();
    for tenure in [&one, &other] {
        assert_eq!(skips(&report(tenure)).await, Skipped::Finished { token });
    }
    clock.advance(MINUTE);
    let next = run(&report(&other)).await;
    assert_eq!(next.slot().starts(), Some(BEGIN + 30_000_000));
    assert!(next.token() > token);
}

#[tokio::test]
async fn a_slot_that_failed_is_open_for_the_next() {
    let (one, other, _, _) = two();
    drop(run(&report(&one)).await);
    let again = run(&report(&other)).await;
    assert_eq!(again.tries(), 2);
    let token = again.token();
    again.finish().await.unwrap();
    assert_eq!(skips(&report(&one)).await, Skipped::Finished { token });
}

#[tokio::test]
async fn as_many_tries_as_are_allowed() {
    let (one, other, _, clock) = two();
    for tenure in [&one, &other] {
        drop(run(&report(tenure).tries(2)).await);
    }
    assert_eq!(skips(&report(&one).tries(2)).await, Skipped::TriesSpent { tries: 2 });
    clock.advance(MINUTE);
    drop(run(&report(&one).tries(2)).await);
}

#[tokio::test]
async fn who_comes_while_the_slot_runs_waits_and_then_skips() {
    let (one, other, store, _) = two();
    let held = run(&report(&one)).await;
    let waiter = begin(&report(&other));
    settle().await;
    assert_eq!(waiters(&store, "report").await, 1);
    let token = held.token();
    held.finish().await.unwrap();
    let Begun::Skipped(skipped) = waiter.await.unwrap().unwrap() else { panic!("it ran twice") };
    assert_eq!(skipped.why, Skipped::Finished { token });
    assert!(one.mutex("report").try_lock().await.unwrap().is_some(), "nobody has the lock");
}

#[tokio::test]
async fn who_comes_while_the_slot_runs_tries_it_when_that_fails() {
    let (one, other, _, _) = two();
    let held = run(&report(&one)).await;
    let waiter = begin(&report(&other));
    settle().await;
    drop(held);
    let Begun::Run(again) = waiter.await.unwrap().unwrap() else { panic!("the slot is open") };
    assert_eq!(again.tries(), 2);
}

#[tokio::test]
async fn a_wait_ends_with_its_slot() {
    let (one, other, store, clock) = two();
    let _held = run(&report(&one)).await;
    let waiter = begin(&report(&other));
    assert!(ends_within(MINUTE / 2, &waiter, &clock).await);
    let Begun::Skipped(skipped) = waiter.await.unwrap().unwrap() else { panic!("it is held") };
    assert_eq!(skipped.why, Skipped::Ended);
    settle().await;
    assert_eq!(waiters(&store, "report").await, 0);
}

#[tokio::test]
async fn who_comes_early_waits_for_its_slot() {
    let (one, other, _, clock) = two();
    let first = run(&report(&one)).await;
    let token = first.token();
    first.finish().await.unwrap();
    // Six seconds are a tenth of the slot.
    clock.advance(Duration::from_secs(23));
    assert_eq!(skips(&report(&other)).await, Skipped::Finished { token }, "this is not early");
    clock.advance(Duration::from_secs(2));
    let (tells, told) = std::sync::mpsc::channel();
    let tell = move |slot: &Slot, left| tells.send((slot.starts(), left)).unwrap();
    let early = begin(&report(&other).on_early(tell));
    settle().await;
    assert!(!early.is_finished());
    clock.advance(Duration::from_secs(4));
    settle().await;
    assert!(!early.is_finished(), "a second is left");
    clock.advance(Duration::from_secs(1));
    let Begun::Run(run) = early.await.unwrap().unwrap() else { panic!("it skipped its slot") };
    assert_eq!(run.slot().starts(), Some(BEGIN + 30_000_000));
    let waits = (run.slot().starts(), Duration::from_secs(5));
    assert_eq!(told.iter().collect::<Vec<_>>(), [waits], "once");
}

/// The caller's clock sleeps too short, or the store's went back.
#[tokio::test]
async fn the_clock_of_the_store_says_when_a_slot_begins() {
    let (tenure, engine, _, clock) = on_manual_clock();
    tokio::spawn(engine);
    clock.set_wall(BEGIN + 26_000_000);
    let early = begin(&report(&tenure));
    settle().await;
    clock.set_wall(BEGIN + 20_000_000);
    clock.advance(Duration::from_secs(4));
    settle().await;
    assert!(!early.is_finished());
    clock.advance(Duration::from_secs(6));
    let Begun::Run(run) = early.await.unwrap().unwrap() else { panic!("it skipped its slot") };
    assert_eq!(run.slot().starts(), Some(BEGIN + 30_000_000));
}

#[tokio::test]
async fn too_late_is_too_late() {
    let (one, other, _, clock) = two();
    drop(run(&report(&one).retry_within(Duration::from_secs(40))).await);
    clock.advance(Duration::from_secs(11));
    let late = report(&other).retry_within(Duration::from_secs(40));
    assert_eq!(skips(&late).await, Skipped::TooLate);
}

#[tokio::test]
async fn too_late_is_too_late_also_for_the_first_run_of_all() {
    let (one, _, _, clock) = two();
    let late = report(&one).retry_within(Duration::from_secs(29));
    assert_eq!(skips(&late).await, Skipped::TooLate);
    clock.advance(MINUTE / 2);
    drop(run(&late).await);
}

#[tokio::test]
async fn a_run_that_lasts_into_the_next_slot() {
    let (one, other, store, clock) = two();
    let long = run(&report(&one)).await;
    let token = long.token();
    pass(MINUTE, &clock).await;
    let skips = begin(&report(&other));
    assert!(!ends_within(Duration::from_secs(9), &skips, &clock).await, "it may be dead");
    assert!(ends_within(MINUTE / 2, &skips, &clock).await);
    let Begun::Skipped(skipped) = skips.await.unwrap().unwrap() else { panic!("it is held") };
    assert_eq!(skipped.why, Skipped::Overlaps { token });
    let waiting = begin(&report(&other).overlap(Overlap::Wait));
    settle().await;
    assert_eq!(waiters(&store, "report").await, 1);
    long.finish().await.unwrap();
    let Begun::Run(next) = waiting.await.unwrap().unwrap() else { panic!("its slot is open") };
    assert!(next.slot().starts() > Some(BEGIN) && next.tries() == 1, "{next:?}");
}

#[tokio::test]
async fn a_run_of_an_earlier_slot_is_replaced_if_that_is_asked_for() {
    let (one, other, _, clock) = two();
    let long = run(&report(&one)).await;
    pass(MINUTE, &clock).await;
    let next = begin(&report(&other).overlap(Overlap::Replace));
    assert!(ends_within(Duration::from_secs(5), &next, &clock).await);
    let Begun::Run(next) = next.await.unwrap().unwrap() else { panic!("its slot is open") };
    let lost = long.lost().await;
    assert_eq!(lost.reason, LostReason::Taken);
    let by = lost.broken_by().and_then(|by| by.reason.as_deref()).unwrap();
    assert!(by.starts_with("replaced by the run of the slot 2027-01-15T08:01:00Z on "), "{by}");
    let error = long.finish().await.unwrap_err();
    assert!(error.is_lost(), "{error:#}");
    next.finish().await.unwrap();
}

/// Its lease ends a while after the slot has begun.
#[tokio::test]
async fn a_dead_run_of_an_earlier_slot_is_waited_for() {
    let (one, engine, store, clock) = on_manual_clock();
    clock.set_wall(BEGIN);
    let dead = run(&report(&one)).await;
    drop(engine);
    let builder = Tenure::builder(Arc::new(store.clone())).clock(Arc::new(clock.clone()));
    let (other, engine) = builder.build_inline();
    tokio::spawn(engine);
    clock.advance(Duration::from_secs(29));
    clock.set_wall(BEGIN + 31_000_000);
    let next = begin(&report(&other));
    assert!(ends_within(Duration::from_secs(5), &next, &clock).await);
    let Begun::Run(next) = next.await.unwrap().unwrap() else { panic!("its slot is open") };
    assert_eq!(next.slot().starts(), Some(BEGIN + 30_000_000));
    drop(dead);
}

/// It marked its slot, and did not release yet.
#[tokio::test]
async fn a_run_that_is_about_to_release_is_no_overlap() {
    let (one, other, store, clock) = two();
    let mut ends = run(&report(&one)).await;
    pass(MINUTE, &clock).await;
    ends.mark().await.unwrap();
    let next = begin(&report(&other));
    settle().await;
    assert_eq!(waiters(&store, "report").await, 1);
    drop(ends);
    assert!(matches!(next.await.unwrap().unwrap(), Begun::Run(_)));
}

/// What ran is kept from others for that time, and what did not run is not.
#[tokio::test]
async fn a_slot_that_is_skipped_or_fails_to_begin_keeps_the_lock_for_no_time() {
    let (one, other, _, _) = two();
    let keeps = |tenure: &Tenure| report(tenure).hold_at_least(MINUTE * 5);
    run(&report(&one)).await.finish().await.unwrap();
    assert!(matches!(skips(&keeps(&other)).await, Skipped::Finished { .. }));
    let hourly = one.mutex("report").once(Period::new(MINUTE * 60).unwrap());
    hourly.hold_at_least(MINUTE * 5).begin().await.unwrap_err();
    let (tenure, flawed, clock) = on_flawed();
    clock.set_wall(BEGIN);
    flawed.flaws(|flaws| flaws.slots = Some(Flaw::Fails(FaultKind::Unsupported)));
    keeps(&tenure).begin().await.unwrap_err();
    let dropped = {
        flawed.flaws(|flaws| flaws.slots = Some(Flaw::Silent));
        begin(&keeps(&tenure))
    };
    settle().await;
    dropped.abort();
    settle().await;
    flawed.flaws(|flaws| *flaws = Default::default());
    run(&report(&tenure)).await.finish().await.unwrap();
}

/// A run of the next slot began by the time that the answer is asked for again.
#[tokio::test]
async fn a_finish_that_arrived_is_known_also_when_the_next_slot_runs() {
    let (tenure, flawed, clock) = on_flawed();
    clock.set_wall(BEGIN);
    let held = run(&report(&tenure)).await;
    flawed.flaws(|flaws| flaws.slots = Some(Flaw::Unanswered));
    let finish = tokio::spawn(held.finish());
    settle().await;
    let seen = tenure.inspect("report").await.unwrap();
    tenure.evict_seen("report", &seen).await.unwrap();
    flawed.flaws(|flaws| *flaws = Default::default());
    clock.set_wall(BEGIN + 31_000_000);
    let _next = run(&report(&tenure)).await;
    assert!(ends_within(MINUTE / 2, &finish, &clock).await);
    finish.await.unwrap().unwrap();
}

/// The start is noted, and the hold is over when that is asked again.
#[tokio::test]
async fn a_run_whose_lock_is_broken_as_it_begins_begins_under_a_new_one() {
    let (tenure, flawed, clock) = on_flawed();
    clock.set_wall(BEGIN);
    flawed.flaws(|flaws| flaws.slots = Some(Flaw::Unanswered));
    let begins = begin(&report(&tenure));
    settle().await;
    let seen = tenure.inspect("report").await.unwrap();
    tenure.evict_seen("report", &seen).await.unwrap();
    flawed.flaws(|flaws| *flaws = Default::default());
    assert!(ends_within(MINUTE / 2, &begins, &clock).await);
    let Begun::Run(run) = begins.await.unwrap().unwrap() else { panic!("its slot is open") };
    assert_eq!((run.check().unwrap(), run.tries()), (run.token(), 2));
}

#[tokio::test]
async fn a_slot_that_a_clock_ahead_finished_is_an_error_until_it_is_replaced() {
    let (one, other, _, clock) = two();
    clock.set_wall(BEGIN + 7_200_000_000);
    run(&report(&one)).await.finish().await.unwrap();
    clock.set_wall(BEGIN);
    let error = report(&other).begin().await.unwrap_err();
    assert!(format!("{error:#}").contains("begins in the future"), "{error:#}");
    run(&report(&other).replace_schedule()).await.finish().await.unwrap();
    assert!(matches!(skips(&report(&one)).await, Skipped::Finished { .. }));
}

#[tokio::test]
async fn slots_with_names_are_not_replaced_and_their_tries_are_counted_apart() {
    let (one, other, _, _) = two();
    let on = |tenure: &Tenure, day| tenure.mutex("report").once(NamedSlot::new(day).unwrap());
    drop(run(&on(&one, "a").tries(1)).await);
    drop(run(&on(&one, "b").tries(1)).await);
    assert_eq!(skips(&on(&other, "a").tries(1)).await, Skipped::TriesSpent { tries: 1 });
    let error = on(&one, "c").overlap(Overlap::Replace).begin().await.unwrap_err();
    assert!(format!("{error:#}").contains("no order"), "{error:#}");
}

/// A holder that does something else under the same name is waited for.
#[tokio::test]
async fn a_lock_that_runs_no_slot_is_not_replaced() {
    let (one, other, store, _) = two();
    let held = one.mutex("report").lock().await.unwrap();
    let waiting = begin(&report(&other).overlap(Overlap::Replace));
    settle().await;
    assert_eq!(waiters(&store, "report").await, 1);
    held.release().await.unwrap();
    assert!(matches!(waiting.await.unwrap().unwrap(), Begun::Run(_)));
}

#[tokio::test]
async fn a_slot_that_is_marked_at_its_start_is_not_repeated() {
    let (one, other, _, _) = two();
    let run = run(&report(&one).mark(Mark::AtStart)).await;
    let token = run.token();
    drop(run);
    assert_eq!(skips(&report(&other)).await, Skipped::Finished { token });
}

#[tokio::test]
async fn a_run_whose_lock_was_lost_marks_nothing() {
    let (one, other, _, clock) = two();
    let first = run(&report(&one)).await;
    let seen = other.inspect("report").await.unwrap();
    other.evict_seen("report", &seen).await.unwrap();
    let error = first.finish().await.unwrap_err();
    assert!(
        matches!(&error, OnceError::Lost(lost) if lost.reason == LostReason::Taken),
        "{error:?}"
    );
    let again = run(&report(&other)).await;
    assert_eq!(again.tries(), 2);
    drop(again);
    // Its lease ended, and nothing renewed it.
    let (tenure, engine, _, clock) = {
        drop(clock);
        on_manual_clock()
    };
    let run = run(&report(&tenure)).await;
    drop(engine);
    clock.advance(MINUTE);
    assert!(run.finish().await.unwrap_err().is_lost());
}

#[tokio::test]
async fn slots_with_names_of_their_own() {
    let (one, other, _, clock) = two();
    let on = |tenure: &Tenure, day| tenure.mutex("report").once(NamedSlot::new(day).unwrap());
    run(&on(&one, "2026-11-27")).await.finish().await.unwrap();
    run(&on(&one, "2026-11-28")).await.finish().await.unwrap();
    clock.advance(MINUTE * 60 * 24 * 30);
    for day in ["2026-11-27", "2026-11-28"] {
        assert!(matches!(skips(&on(&other, day)).await, Skipped::Finished { .. }), "{day}");
    }
    run(&on(&other, "2026-11-26")).await.finish().await.unwrap();
}

/// Each answer comes only at the second call.
#[tokio::test]
async fn answers_that_get_lost_change_nothing() {
    let (tenure, flawed, clock) = on_flawed();
    clock.set_wall(BEGIN);
    flawed.lose_answers(1_000);
    let task = tokio::spawn(async move {
        let run = run(&report(&tenure)).await;
        assert_eq!(run.tries(), 1, "a repeated start is one try");
        let token = run.token();
        run.finish().await.unwrap();
        assert_eq!(skips(&report(&tenure)).await, Skipped::Finished { token });
    });
    assert!(ends_within(MINUTE / 4, &task, &clock).await);
    task.await.unwrap();
}

/// The write arrives, and the answer does not.
#[tokio::test]
async fn a_finish_that_is_not_confirmed_is_in_doubt_and_not_done() {
    let (tenure, flawed, clock) = on_flawed();
    clock.set_wall(BEGIN);
    let held = run(&report(&tenure)).await;
    flawed.flaws(|flaws| {
        flaws.slots = Some(Flaw::Unanswered);
        flaws.renew = Some(Flaw::Silent);
    });
    let finish = tokio::spawn(held.finish());
    assert!(ends_within(MINUTE, &finish, &clock).await);
    let error = finish.await.unwrap().unwrap_err();
    assert!(matches!(error, OnceError::InDoubt(_)), "{error:?}");
    assert!(error.is_transient());
    flawed.flaws(|flaws| *flaws = Default::default());
    clock.set_wall(BEGIN);
    assert!(matches!(skips(&report(&tenure)).await, Skipped::Finished { .. }), "it had arrived");
}

/// The process stands still after its start was noted.
#[tokio::test]
async fn a_run_whose_lock_was_lost_before_it_began_does_not_begin() {
    let (tenure, flawed, clock) = on_flawed();
    clock.set_wall(BEGIN);
    flawed.flaws(|flaws| flaws.slots = Some(Flaw::Unanswered));
    let begun = begin(&report(&tenure));
    settle().await;
    // The first call is given up, and the next one is about to be made.
    clock.advance(Duration::from_secs(5));
    settle().await;
    assert!(!begun.is_finished());
    flawed.flaws(|flaws| *flaws = Default::default());
    clock.advance(MINUTE);
    settle().await;
    let Begun::Skipped(skipped) = begun.await.unwrap().unwrap() else { panic!("its slot is over") };
    assert_eq!(skipped.why, Skipped::Ended);
    let again = run(&report(&tenure)).await;
    assert_eq!(again.tries(), 1, "another slot");
}

#[tokio::test]
async fn a_call_that_is_dropped_leaves_no_lock_and_no_waiter() {
    let (one, other, store, _) = two();
    let held = run(&report(&one)).await;
    let waiting = begin(&report(&other));
    settle().await;
    waiting.abort();
    settle().await;
    assert_eq!(waiters(&store, "report").await, 0);
    drop(held);
    let granted = begin(&report(&other));
    settle().await;
    granted.abort();
    drop(granted.await);
    settle().await;
    assert!(one.mutex("report").try_lock().await.unwrap().is_some());
}

/// It would ask the store again and again without a pause.
#[tokio::test]
async fn a_process_without_room_for_another_hold_fails_at_once() {
    let tenure = Tenure::builder(Arc::new(MemoryStore::new())).max_holds(1).build();
    let _other = tenure.mutex("other").lock().await.unwrap();
    let begun = report(&tenure);
    let begun = tokio::time::timeout(Duration::from_secs(10), begun.begin()).await;
    let error = begun.unwrap().unwrap_err();
    assert!(format!("{error:#}").contains("the maximum"), "{error:#}");
}
