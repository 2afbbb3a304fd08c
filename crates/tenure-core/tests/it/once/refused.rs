//! Schedules and settings that are refused, and what can be looked at.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    AcquireError, Begun, LockName, MemoryStore, OnceError, Store, Tenure,
    schedule::{Period, Schedule, Slot, SlotId},
};

use super::{BEGIN, MINUTE, minutes, report, run, two};
use crate::settle;

/// Minutes of a program that does not say how long they are.
#[derive(Debug)]
struct OwnMinutes(Period);

impl Schedule for OwnMinutes {
    fn slot_at(&self, now: u64) -> Option<Slot> {
        self.0.slot_at(now)
    }

    fn text(&self) -> &str {
        "minutes"
    }
}

#[tokio::test]
async fn a_caller_is_early_by_half_of_a_slot_at_most() {
    let (one, _, _, clock) = two();
    clock.set_wall(BEGIN - 1_000_000);
    let own = one.mutex("report").once(OwnMinutes(minutes())).early(MINUTE);
    let late = run(&own).await;
    assert_eq!(late.slot().starts(), Some(BEGIN - 30_000_000), "it can still run the current slot");
}

#[tokio::test]
async fn settings_with_which_a_slot_would_never_run_as_asked_are_refused() {
    let (one, _, store, clock) = two();
    let out_of_range = |error: &OnceError, says: &str| {
        let text = format!("{error:#}");
        assert!(matches!(error, OnceError::Acquire(AcquireError::Setting(_))), "{text}");
        assert!(text.contains(says) && !error.is_transient(), "{text}");
    };
    let error = report(&one).retry_within(Duration::ZERO).begin().await.unwrap_err();
    out_of_range(&error, "retry_within of 0s is out of range; choose from 1ms to 366d");
    let error = report(&one).early(Duration::from_secs(31)).begin().await.unwrap_err();
    out_of_range(&error, "early of 31s is out of range; choose from 0s to 30s");
    let error = report(&one).tries(0).begin().await.unwrap_err();
    assert!(format!("{error:#}").contains("allow one try or more"), "{error:#}");
    assert!(store_is_unused(&store).await);
    // Half of the slot, and more than all of it, which ends by itself.
    clock.set_wall(BEGIN - 1_000_000);
    drop(run(&report(&one).early(Duration::from_secs(30)).retry_within(MINUTE * 2)).await);
}

/// A schedule of a program, with one slot.
#[derive(Debug)]
struct OwnSlot {
    text: String,
    name: &'static str,
}

impl Schedule for OwnSlot {
    fn slot_at(&self, _: u64) -> Option<Slot> {
        Some(Slot::new(SlotId::Named(self.name.into()), None))
    }

    fn text(&self) -> &str {
        &self.text
    }
}

/// Each would be read back as something else.
#[tokio::test]
async fn a_schedule_whose_text_or_slot_would_break_the_record_is_refused() {
    let (one, _, store, _) = two();
    let begin = |text: &str, name| {
        let once = one.mutex("report").once(OwnSlot { text: text.to_owned(), name });
        async move { once.begin().await }
    };
    let long = "x".repeat(513);
    for (text, name, says) in [
        ("own\nfinished 1 =x", "x", "1 to 512 bytes without control characters"),
        ("own\u{85}", "x", "1 to 512 bytes"),
        ("", "x", "cannot have the text \"\""),
        (&long, "x", "1 to 512 bytes"),
        ("own", "x\nfinished 1 =y", "1 to 64 bytes without control characters"),
        ("own", "", "a slot cannot be called \"\""),
    ] {
        let error = begin(text, name).await.unwrap_err();
        let said = format!("{error:#}");
        assert!(said.contains(says) && !error.is_transient(), "{said}");
    }
    assert!(store_is_unused(&store).await);
    let Ok(Begun::Run(run)) = begin(&"x".repeat(512), "x").await else { panic!("it is good") };
    run.finish().await.unwrap();
}

async fn store_is_unused(store: &MemoryStore) -> bool {
    let name = LockName::new("report").unwrap();
    store.read_slots(&name).await.unwrap().text.is_none()
}

#[tokio::test]
async fn a_store_that_keeps_no_record_refuses() {
    use crate::flawed::Flawed;
    let flawed = Flawed::new(MemoryStore::new()).without(|can| can.slot_records = false);
    let tenure = Tenure::new(Arc::new(flawed));
    let error = report(&tenure).begin().await.unwrap_err();
    assert!(format!("{error:#}").contains("keeps no record"), "{error:#}");
}

#[tokio::test]
async fn what_is_recorded_of_a_schedule_can_be_looked_at() {
    let (one, other, _, clock) = two();
    let state = async || other.schedule("report").await.unwrap();
    assert_eq!(state().await, None, "nothing ran");
    let first = run(&report(&one)).await;
    let (token, slot) = (first.token(), first.slot().id.clone());
    let known = state().await.unwrap();
    let running = known.running.unwrap();
    assert_eq!((&*known.schedule, known.finished), ("every 1m", None));
    assert_eq!((&running.slot, running.token, running.tries), (&slot, token, 1));
    drop(first);
    settle().await;
    let known = state().await.unwrap();
    assert_eq!((known.running, known.unfinished.unwrap().tries), (None, 1));
    let again = run(&report(&one)).await;
    let token = again.token();
    again.finish().await.unwrap();
    let known = state().await.unwrap();
    let finished = known.finished.unwrap();
    assert_eq!((finished.slot, finished.token, known.unfinished), (slot, token, None));
    clock.advance(MINUTE);
    let _next = run(&report(&one)).await;
    assert_eq!(state().await.unwrap().unfinished.unwrap().slot.in_utc(), "2027-01-15T08:01:00Z");
    assert!(other.schedule("").await.is_err());
}

#[tokio::test]
async fn two_schedules_for_one_name_refuse_each_other() {
    let (one, other, _, _) = two();
    run(&report(&one)).await.finish().await.unwrap();
    let hourly = other.mutex("report").once(Period::new(MINUTE * 60).unwrap());
    let error = hourly.begin().await.unwrap_err();
    let text = format!("{error:#}");
    assert!(text.starts_with("lock \"report\" in memory"), "{text}");
    assert!(text.contains("another schedule") && !error.is_transient(), "{text}");
    run(&hourly.replace_schedule()).await.finish().await.unwrap();
    assert!(report(&one).begin().await.is_err(), "the other one is the schedule now");
}
