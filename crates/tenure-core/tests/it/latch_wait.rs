//! The wait at a latch: what it is told, and when it ends.

use std::time::Duration;

use tenure_core::{FaultKind, InspectError, LatchError};

use crate::{
    STEP, ends_within,
    flawed::{Flaw, on_flawed},
};

#[tokio::test]
async fn one_that_is_missing_keeps_the_latch_closed() {
    let (tenure, _, clock) = on_flawed();
    let latch = tenure.latch("start", 2);
    assert_eq!(latch.arrive("a").await.unwrap(), 1);
    let waiting = tokio::spawn(latch.wait().within(STEP * 8).into_future());
    assert!(!ends_within(STEP * 7, &waiting, &clock).await);
    assert!(ends_within(STEP, &waiting, &clock).await);
    let over = waiting.await.unwrap().unwrap_err();
    assert!(matches!(over, LatchError::TimedOut { remaining: 1, count: 2, .. }), "{over}");
}

#[tokio::test]
async fn a_last_look_that_is_cut_short_says_how_many_were_missing_before() {
    let (tenure, store, clock) = on_flawed();
    let waiting = tokio::spawn(tenure.latch("start", 2).wait().within(STEP * 8).into_future());
    assert!(!ends_within(STEP * 4, &waiting, &clock).await);
    store.flaws(|flaws| flaws.inspect = Some(Flaw::Silent));
    assert!(ends_within(STEP * 4, &waiting, &clock).await);
    let over = waiting.await.unwrap().unwrap_err();
    assert!(matches!(over, LatchError::TimedOut { remaining: 2, .. }), "{over}");
}

#[tokio::test]
async fn a_wait_without_a_bound_ends_when_the_store_fails_for_half_a_minute() {
    let (tenure, store, clock) = on_flawed();
    let waiting = tokio::spawn(tenure.latch("start", 2).wait().into_future());
    assert!(!ends_within(STEP * 4, &waiting, &clock).await);
    store.flaws(|flaws| flaws.inspect = Some(Flaw::Fails(FaultKind::Unreachable)));
    assert!(!ends_within(Duration::from_secs(28), &waiting, &clock).await);
    assert!(ends_within(Duration::from_secs(15), &waiting, &clock).await);
    let failed = waiting.await.unwrap().unwrap_err();
    assert!(matches!(failed, LatchError::Inspect(InspectError::Store(_))), "{failed}");
}

#[tokio::test]
async fn a_latch_that_is_full_says_so() {
    let (tenure, _, _) = on_flawed();
    let most = tenure.store().capabilities().max_holders;
    let latch = tenure.latch("start", 1);
    for who in 0..most {
        assert_eq!(latch.arrive(&who.to_string()).await.unwrap(), 0);
    }
    let full = latch.arrive("one more").await.unwrap_err();
    let LatchError::Inspect(InspectError::Store(failure)) = full else { panic!("{full}") };
    assert_eq!(failure.fault.kind(), FaultKind::Full, "{failure:#}");
}
