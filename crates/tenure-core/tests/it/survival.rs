//! The engine outlives what panics under it.

use std::time::Duration;

use tenure_core::{Guard, LostReason, Store, Tenure};

use crate::{
    flawed::{Flaw, Flawed, on_flawed, on_flawed_engine},
    on_count::OnCount,
    settle,
};

const TTL: Duration = Duration::from_secs(3);

#[tokio::test]
async fn a_store_that_panics_in_a_renewal_costs_no_hold_that_is_renewed_in_time() {
    let (tenure, store, clock) = on_flawed();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    settle().await;
    store.flaws(|flaws| flaws.renew = Some(Flaw::Panics));
    clock.advance(TTL / 3);
    settle().await;
    let failure = guard.last_renewal_error().unwrap().to_string();
    assert!(failure.contains("panicked in a renewal: on purpose"), "{failure:#}");
    store.flaws(|flaws| flaws.renew = None);
    for _ in 0..20 {
        clock.advance(TTL / 6);
        settle().await;
        guard.check().unwrap();
    }
    assert!(guard.last_renewal_error().is_none());
    // And those that come later find it at work.
    tenure.mutex("b").lock().await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_store_that_panics_on_and_on_loses_a_hold_at_its_deadline_and_says_why() {
    let (tenure, store, clock) = on_flawed();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    settle().await;
    store.flaws(|flaws| flaws.renew = Some(Flaw::Panics));
    for _ in 0..12 {
        clock.advance(TTL / 12);
        settle().await;
    }
    let lost = guard.lost().await;
    assert_eq!(lost.reason, LostReason::Deadline);
    assert!(format!("{lost:#}").contains("on purpose"), "{lost:#}");
}

#[tokio::test]
async fn a_release_in_which_the_store_panics_is_tried_again() {
    let (tenure, store, clock) = on_flawed();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    let name = guard.name().clone();
    store.flaws(|flaws| flaws.release = Some(Flaw::Panics));
    drop(guard);
    settle().await;
    assert_eq!(store.inspect(&name).await.unwrap().holders.len(), 1);
    store.flaws(|flaws| flaws.release = None);
    clock.advance(TTL / 3);
    settle().await;
    assert!(store.inspect(&name).await.unwrap().holders.is_empty());
}

/// Two holds that are renewed together and are held on, whatever the engine has to do with a third one when
/// `metric` is counted and panics.
fn outlasts(metric: &'static str, third: impl AsyncFn(&Tenure, &Flawed) -> Guard) {
    let counted = OnCount::of(metric);
    counted.run(async {
        let (tenure, engine, store, clock) = on_flawed_engine();
        tokio::spawn(engine);
        store.tell_evictions(false);
        let third = third(&tenure, &store).await;
        let one = tenure.mutex("one").ttl(TTL).lock().await.unwrap();
        let other = tenure.mutex("other").ttl(TTL).lock().await.unwrap();
        settle().await;
        counted.next_time(|| panic!("on purpose"));
        for _ in 0..20 {
            clock.advance(TTL / 6);
            settle().await;
            one.check().unwrap();
            other.check().unwrap();
        }
        drop(third);
    });
}

#[test]
fn who_observes_renewals_and_panics_costs_no_hold() {
    outlasts("tenure_renewals_total", async |tenure, _| {
        tenure.mutex("first").ttl(TTL).lock().await.unwrap()
    });
}

#[test]
fn who_observes_a_loss_and_panics_costs_no_other_hold() {
    // Found by the answer to the renewal of all three.
    outlasts("tenure_lost_total", async |tenure, store| {
        let taken = tenure.mutex("taken").ttl(TTL).lock().await.unwrap();
        store.evict(taken.name()).await.unwrap();
        taken
    });
    // And when it is due with their renewals.
    outlasts("tenure_lost_total", async |tenure, _| {
        tenure.mutex("outlasted").ttl(TTL).max_hold(TTL / 3).lock().await.unwrap()
    });
}

/// The process stood still for so long that the hold is at risk as soon as its renewal is due.
#[test]
fn who_observes_a_risk_and_panics_costs_no_renewal() {
    let counted = OnCount::of("tenure_at_risk_total");
    counted.run(async {
        let (tenure, _, clock) = on_flawed();
        let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
        settle().await;
        counted.next_time(|| panic!("on purpose"));
        clock.advance(TTL * 7 / 10);
        settle().await;
        assert!(!guard.is_at_risk(), "it was renewed");
        clock.advance(TTL / 2);
        settle().await;
        guard.check().unwrap();
    });
}

#[tokio::test]
async fn hints_that_panic_end_no_renewals() {
    let (tenure, store, clock) = on_flawed();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    settle().await;
    store.flaws(|flaws| flaws.hints = Some(Flaw::Panics));
    store.forge_eviction(guard.name());
    settle().await;
    store.flaws(|flaws| flaws.hints = None);
    for _ in 0..20 {
        clock.advance(TTL / 6);
        settle().await;
        guard.check().unwrap();
    }
}
