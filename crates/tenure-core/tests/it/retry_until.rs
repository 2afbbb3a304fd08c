//! Calls that need no guard: which are made again, and until when.

use std::time::Duration;

use futures_util::FutureExt;
use tenure_core::{FaultKind, InspectError, LatchError};

use crate::{
    STEP, ends_within,
    flawed::{Flaw, on_flawed},
};

fn kind(error: InspectError) -> FaultKind {
    let InspectError::Store(failure) = error else { panic!("{error:#}") };
    failure.fault.kind()
}

#[tokio::test]
async fn a_look_fails_at_once_where_looking_again_would_not_help() {
    let (tenure, store, _) = on_flawed();
    store.flaws(|flaws| flaws.inspect = Some(Flaw::Fails(FaultKind::Corrupt)));
    let mutex = tenure.mutex("a");
    let failed = mutex.inspect().now_or_never().unwrap().unwrap_err();
    assert_eq!(kind(failed), FaultKind::Corrupt);
}

#[tokio::test]
async fn a_look_is_repeated_for_half_a_minute_while_the_store_cannot_be_reached() {
    for (flaw, kind_of) in [
        (Flaw::Fails(FaultKind::Unreachable), FaultKind::Unreachable),
        (Flaw::Silent, FaultKind::InDoubt),
    ] {
        let (tenure, store, clock) = on_flawed();
        store.flaws(|flaws| flaws.inspect = Some(flaw));
        let mutex = tenure.mutex("a");
        let looking = tokio::spawn(async move { mutex.inspect().await });
        assert!(!ends_within(Duration::from_secs(28), &looking, &clock).await);
        assert!(ends_within(Duration::from_secs(3), &looking, &clock).await);
        assert_eq!(kind(looking.await.unwrap().unwrap_err()), kind_of);
    }
}

#[tokio::test]
async fn a_look_goes_on_when_the_store_can_be_reached_again() {
    for flaw in [Flaw::Fails(FaultKind::Unreachable), Flaw::Silent] {
        let (tenure, store, clock) = on_flawed();
        store.flaws(|flaws| flaws.inspect = Some(flaw));
        let mutex = tenure.mutex("a");
        let looking = tokio::spawn(async move { mutex.inspect().await });
        assert!(!ends_within(STEP * 4, &looking, &clock).await);
        store.flaws(|flaws| flaws.inspect = None);
        assert!(ends_within(STEP * 10, &looking, &clock).await);
        assert!(looking.await.unwrap().unwrap().holders.is_empty());
    }
}

#[tokio::test]
async fn a_wait_ends_in_time_although_the_store_does_not_answer() {
    let (tenure, store, clock) = on_flawed();
    store.flaws(|flaws| flaws.inspect = Some(Flaw::Silent));
    let waiting = tenure.latch("start", 1).wait().within(STEP * 4).into_future();
    let waiting = tokio::spawn(waiting);
    assert!(!ends_within(STEP * 3, &waiting, &clock).await);
    assert!(ends_within(STEP, &waiting, &clock).await);
    let LatchError::Inspect(error) = waiting.await.unwrap().unwrap_err() else {
        panic!("it looked")
    };
    assert_eq!(kind(error), FaultKind::InDoubt);
}

#[tokio::test]
async fn who_does_not_want_to_wait_is_answered_by_a_slow_store_all_the_same() {
    let (tenure, store, clock) = on_flawed();
    store.flaws(|flaws| flaws.inspect = Some(Flaw::Late(clock.clone(), STEP * 4)));
    let waiting = tenure.latch("start", 0).wait().within(Duration::ZERO).into_future();
    let waiting = tokio::spawn(waiting);
    assert!(ends_within(STEP * 4, &waiting, &clock).await);
    waiting.await.unwrap().unwrap();
}
