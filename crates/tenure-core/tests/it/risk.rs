//! A holder is told that its hold is at risk before it is lost.

use std::time::Duration;

use futures_util::FutureExt;
use tenure_core::{FaultKind, LostReason, Store};

use crate::{
    flawed::{Flaw, Flawed, on_flawed},
    recorder::Recorded,
    running, settle,
};

const TTL: Duration = Duration::from_secs(30);

fn fails(store: &Flawed, fails: bool) {
    store.flaws(|flaws| {
        flaws.renew = fails.then_some(Flaw::Fails(FaultKind::Unreachable));
    });
}

#[test]
fn it_is_told_at_half_of_the_margin_and_when_a_renewal_succeeds() {
    Recorded::run(async |shown| {
        let (tenure, store, clock) = on_flawed();
        let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
        let at_risk = tokio::spawn(guard.at_risk());
        let mut recovered = Box::pin(guard.recovered());
        assert!((&mut recovered).now_or_never().is_some(), "it was not at risk");
        let tick = async |seconds| {
            for _ in 0..seconds {
                clock.advance(Duration::from_secs(1));
                settle().await;
            }
        };
        tick(60).await;
        assert!(!at_risk.is_finished() && !guard.is_at_risk(), "renewals succeed");
        fails(&store, true);
        tick(19).await;
        assert!(!at_risk.is_finished() && !guard.is_at_risk());
        tick(2).await;
        assert!(at_risk.is_finished() && guard.is_at_risk());
        guard.check().unwrap();
        let recovered = tokio::spawn(guard.recovered());
        settle().await;
        assert!(!recovered.is_finished());
        fails(&store, false);
        tick(2).await;
        assert!(recovered.is_finished() && !guard.is_at_risk());
        assert_eq!(shown.value("tenure_at_risk_total,store=flawed,kind=mutex"), 1.0);
    });
}

/// The renewal was under way when the risk began, so that only its answer shows both.
#[test]
fn a_risk_that_began_and_ended_during_a_renewal_is_told_too() {
    Recorded::run(async |shown| {
        let (tenure, store, clock) = on_flawed();
        let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
        settle().await;
        store.flaws(|flaws| flaws.renew = Some(Flaw::Late(clock.clone(), TTL / 3)));
        clock.advance(TTL * 2 / 5);
        let at_risk = tokio::spawn(guard.at_risk());
        settle().await;
        store.flaws(|flaws| flaws.renew = None);
        clock.advance(TTL / 3);
        settle().await;
        guard.check().unwrap();
        assert_eq!(shown.value("tenure_at_risk_total,store=flawed,kind=mutex"), 1.0);
        drop(at_risk);
    });
}

#[tokio::test]
async fn a_loss_without_warning_ends_the_wait_for_one() {
    let (tenure, store, clock) = running();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    let at_risk = tokio::spawn(guard.at_risk());
    let recovered = tokio::spawn(guard.recovered());
    settle().await;
    assert!(recovered.is_finished());
    store.evict(guard.name()).await.unwrap();
    clock.advance(TTL / 3);
    settle().await;
    assert_eq!(guard.check().unwrap_err().reason, LostReason::Taken);
    assert!(at_risk.is_finished() && guard.is_at_risk(), "nothing new is to begin");
    assert!(guard.recovered().now_or_never().is_none());
}

#[tokio::test]
async fn a_hold_that_was_released_is_never_at_risk() {
    let (tenure, _, clock) = on_flawed();
    let mutex = tenure.mutex("a").ttl(TTL);
    let guard = mutex.lock().await.unwrap();
    let (at_risk, recovered) = (guard.at_risk(), guard.recovered());
    guard.release().await.unwrap();
    clock.advance(TTL * 2);
    settle().await;
    assert!(at_risk.now_or_never().is_none() && recovered.now_or_never().is_none());
}

/// The engine may be starved: the caller's own timer tells, too.
#[tokio::test]
async fn it_is_told_without_the_engine() {
    let (tenure, engine, _, clock) = crate::flawed::on_flawed_engine();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    let at_risk = tokio::spawn(guard.at_risk());
    settle().await;
    clock.advance(Duration::from_secs(19));
    settle().await;
    assert!(!at_risk.is_finished());
    clock.advance(Duration::from_secs(1));
    settle().await;
    assert!(at_risk.is_finished());
    drop(engine);
}

#[tokio::test]
async fn a_hold_that_ends_with_its_max_hold_is_at_risk_before() {
    let (tenure, _, clock) = on_flawed();
    let guard = tenure.mutex("a").ttl(TTL).max_hold(Duration::from_secs(60)).lock().await.unwrap();
    let at_risk = tokio::spawn(guard.at_risk());
    for second in 1..=50 {
        assert!(!guard.is_at_risk() && !at_risk.is_finished(), "{second}");
        clock.advance(Duration::from_secs(1));
        settle().await;
    }
    assert!(guard.is_at_risk() && at_risk.is_finished());
    guard.check().unwrap();
}
