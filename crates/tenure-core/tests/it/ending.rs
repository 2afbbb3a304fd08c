//! How a hold ends: what its release says, and for how long its name stays taken.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tenure_core::{
    AcquireError, Clock, FaultKind, Guard, LostReason, ManualClock, ReleaseError, Store, Tenure,
    Timestamp,
};
use tokio::task::JoinHandle;

use crate::{
    flawed::{Flaw, Flawed, on_flawed},
    on_count::OnCount,
    on_manual_clock, running, settle,
};

const TTL: Duration = Duration::from_secs(3);
const KEPT: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_release_of_a_hold_that_an_operator_took_away_says_so() {
    let (tenure, store, _) = running();
    let guard = tenure.mutex("a").lock().await.unwrap();
    store.evict(guard.name()).await.unwrap();
    let Err(ReleaseError::Lost(lost)) = guard.release().await else { panic!("it was released") };
    assert_eq!(lost.reason, LostReason::Taken);
}

#[tokio::test]
async fn a_release_that_needs_a_second_try_is_no_loss() {
    let (tenure, flawed, clock) = on_flawed();
    let guard = tenure.mutex("a").lock().await.unwrap();
    flawed.lose_next_answer();
    let released = tokio::spawn(guard.release());
    settle().await;
    assert!(!released.is_finished());
    clock.advance(Duration::from_millis(500));
    released.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_release_that_never_arrives_is_given_up_and_goes_on_behind() {
    let (tenure, flawed, clock) = on_flawed();
    let guard = tenure.mutex("a").ttl(TTL * 9).lock().await.unwrap();
    let name = guard.name().clone();
    flawed.cut_off(true);
    let released = tokio::spawn(guard.release());
    for _ in 0..21 {
        settle().await;
        clock.advance(Duration::from_millis(100));
    }
    settle().await;
    assert!(released.is_finished());
    let in_doubt = released.await.unwrap().unwrap_err();
    assert!(matches!(in_doubt, ReleaseError::InDoubt(_)), "{in_doubt}");
    assert!(
        format!("{in_doubt:#}").ends_with("; the lock is free when its lease ends"),
        "{in_doubt:#}"
    );
    assert_eq!(flawed.inspect(&name).await.unwrap().holders.len(), 1);
    flawed.cut_off(false);
    for _ in 0..20 {
        clock.advance(Duration::from_millis(500));
        settle().await;
    }
    assert!(flawed.inspect(&name).await.unwrap().holders.is_empty());
}

#[test]
fn an_answer_on_its_way_brings_nothing_back_that_was_told_lost() {
    // A renewal is counted before its lease hears of it.
    let renewed = OnCount::of("tenure_renewals_total");
    renewed.run(async {
        let (tenure, _, clock) = running();
        let guard = Arc::new(tenure.mutex("a").ttl(TTL).lock().await.unwrap());
        let told = Arc::new(Mutex::new(None));
        let (held, late, tell) = (guard.clone(), clock.clone(), told.clone());
        renewed.next_time(move || {
            // Past the deadline of the grant, and not past that of the renewal.
            late.advance(TTL * 2 / 3);
            *tell.lock().unwrap() = Some(held.check().is_err());
        });
        clock.advance(TTL / 3);
        settle().await;
        assert_eq!(*told.lock().unwrap(), Some(true));
        assert_eq!(guard.check().unwrap_err().reason, LostReason::Deadline);
    });
}

fn waits(tenure: &Tenure) -> JoinHandle<Guard> {
    let lock = tenure.mutex("a").ttl(TTL).lock().into_future();
    tokio::spawn(async move { lock.await.unwrap() })
}

/// Whether a task that waits for the name is kept waiting until it has been taken for [`KEPT`].
async fn stays_taken(waiting: &JoinHandle<Guard>, clock: &ManualClock) {
    const STEP: Duration = Duration::from_millis(500);
    for _ in 1..KEPT.as_millis() / STEP.as_millis() {
        clock.advance(STEP);
        settle().await;
        assert!(!waiting.is_finished(), "the name was to stay taken");
    }
    clock.advance(STEP * 2);
    settle().await;
    assert!(waiting.is_finished(), "the name stays taken for too long");
}

#[tokio::test]
async fn a_name_that_is_to_stay_taken_is_not_handed_over() {
    for dropped in [false, true] {
        let (tenure, _, clock) = running();
        let first = tenure.mutex("a").ttl(TTL).hold_at_least(KEPT).lock().await.unwrap();
        let next = waits(&tenure);
        settle().await;
        if dropped {
            drop(first);
        } else {
            first.release().await.unwrap();
        }
        settle().await;
        stays_taken(&next, &clock).await;
    }
}

#[tokio::test]
async fn a_name_stays_taken_although_the_first_tries_to_say_so_got_lost() {
    const STEP: Duration = Duration::from_millis(500);
    let (tenure, flawed, clock) = on_flawed();
    let long = 60 * KEPT;
    let guard = tenure.mutex("a").ttl(KEPT).hold_at_least(long).lock().await.unwrap();
    flawed.cut_off(true);
    drop(guard);
    settle().await;
    flawed.cut_off(false);
    while clock.now().since(Timestamp::ZERO) < 2 * KEPT {
        clock.advance(STEP);
        settle().await;
        assert!(tenure.mutex("a").try_lock().await.unwrap().is_none());
    }
}

#[tokio::test]
async fn a_release_that_is_tried_again_keeps_the_name_for_no_longer() {
    const LATER: Duration = Duration::from_millis(500);
    let (tenure, flawed, clock) = on_flawed();
    let guard = tenure.mutex("a").hold_at_least(KEPT).lock().await.unwrap();
    let name = guard.name().clone();
    flawed.flaws(|flaws| flaws.release = Some(Flaw::Fails(FaultKind::Unreachable)));
    let released = tokio::spawn(guard.release());
    settle().await;
    flawed.flaws(|flaws| flaws.release = None);
    clock.advance(LATER);
    released.await.unwrap().unwrap();
    let kept = flawed.inspect(&name).await.unwrap().holders[0].left;
    assert_eq!(kept, Some(KEPT - LATER));
}

#[tokio::test]
async fn a_name_stays_taken_for_as_long_as_the_last_task_asked_that_took_it_over() {
    let (tenure, _, clock) = running();
    let first = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    let keeps = tenure.mutex("a").ttl(TTL).hold_at_least(KEPT).lock().into_future();
    let keeps = tokio::spawn(async move { keeps.await.unwrap() });
    settle().await;
    let next = waits(&tenure);
    settle().await;
    first.release().await.unwrap();
    let kept = keeps.await.unwrap();
    assert_eq!(kept.token().pass(), 1);
    kept.release().await.unwrap();
    stays_taken(&next, &clock).await;
}

#[tokio::test]
async fn a_name_is_kept_for_as_long_as_the_store_can_and_no_longer() {
    let (_, _, store, _) = on_manual_clock();
    let flawed = Flawed::new(store).without(|can| can.longest_keep = KEPT);
    let (tenure, engine) = Tenure::builder(Arc::new(flawed)).build_inline();
    tokio::spawn(engine);
    let kept = tenure.mutex("a").hold_at_least(KEPT).lock().await.unwrap();
    kept.release().await.unwrap();
    let longer = KEPT + Duration::from_millis(1);
    let refused = tenure.mutex("b").hold_at_least(longer).lock().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Misconfigured(_)), "{refused:#}");
}
