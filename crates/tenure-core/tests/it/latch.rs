//! The count-down latch.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    FaultKind, InspectError, LatchError, MemoryStore, SeededEntropy, Store, Tenure,
    proto::{
        latch::owner_of,
        queue::{Ask, Intent, Kind, Mode, Order},
    },
};

use crate::{
    flawed::{Flaw, Flawed, on_flawed},
    running, settle,
};

fn tenure() -> (Tenure, MemoryStore) {
    let store = MemoryStore::new();
    (Tenure::new(Arc::new(store.clone())), store)
}

fn name(text: &str) -> tenure_core::LockName {
    tenure_core::LockName::new(text).unwrap()
}

/// The first half of an arrival, as a process makes it that dies before the second.
fn half_an_arrival(who: &str) -> Ask {
    Ask {
        owner: owner_of("start", who),
        kind: Kind::Latch,
        mode: Mode::Shared,
        order: Order::Barging,
        intent: Intent::Try,
        ttl: Duration::from_secs(30),
        label: who.into(),
    }
}

#[tokio::test]
async fn it_opens_when_all_have_arrived() {
    let (tenure, _) = tenure();
    let latch = tenure.latch("start", 3);
    let waiter = tokio::spawn(latch.wait().within(Duration::from_secs(20)).into_future());
    assert_eq!(latch.remaining().await.unwrap(), 3);
    for (who, remaining) in [("a", 2), ("b", 1), ("c", 0)] {
        assert!(!waiter.is_finished());
        assert_eq!(latch.arrive(who).await.unwrap(), remaining);
    }
    waiter.await.unwrap().unwrap();
    assert_eq!(latch.arrived().await.unwrap(), ["a", "b", "c"]);
}

#[tokio::test]
async fn an_arrival_counts_once_whoever_repeats_it() {
    let (tenure, store) = tenure();
    let other = Tenure::new(Arc::new(store));
    assert_eq!(tenure.latch("start", 3).arrive("a").await.unwrap(), 2);
    for tenure in [&tenure, &other] {
        assert_eq!(tenure.latch("start", 3).arrive("a").await.unwrap(), 2);
    }
}

#[tokio::test]
async fn two_that_arrive_under_one_name_at_once_count_once() {
    let (tenure, store) = tenure();
    let arrivals: Vec<_> = (0..20)
        .map(|_| {
            let latch = Tenure::new(Arc::new(store.clone())).latch("start", 3);
            tokio::spawn(async move { latch.arrive("a").await })
        })
        .collect();
    for arrival in arrivals {
        assert_eq!(arrival.await.unwrap().unwrap(), 2);
    }
    assert_eq!(tenure.latch("start", 3).arrived().await.unwrap(), ["a"]);
}

#[tokio::test]
async fn a_process_that_dies_on_the_way_has_not_arrived_and_can_arrive_again() {
    let (tenure, store) = tenure();
    store.acquire(&name("start"), &half_an_arrival("a")).await.unwrap();
    let latch = tenure.latch("start", 1);
    assert_eq!(latch.remaining().await.unwrap(), 1);
    assert_eq!(latch.arrived().await.unwrap(), [""; 0]);
    assert_eq!(latch.arrive("a").await.unwrap(), 0);
}

#[tokio::test]
async fn lost_and_repeated_answers_change_no_count() {
    let store = Flawed::new(MemoryStore::new());
    let tenure =
        Tenure::builder(Arc::new(store.clone())).entropy(Arc::new(SeededEntropy::new(1))).build();
    let latch = tenure.latch("start", 10);
    for who in 0..10 {
        store.lose_answers(3);
        assert_eq!(latch.arrive(&format!("worker-{who}")).await.unwrap(), 9 - who);
    }
    assert_eq!(latch.arrived().await.unwrap().len(), 10);
}

#[tokio::test]
async fn late_comers_arrive_at_an_open_latch_and_change_nothing() {
    let (tenure, _) = tenure();
    let latch = tenure.latch("start", 1);
    for who in ["a", "b", "c"] {
        assert_eq!(latch.arrive(who).await.unwrap(), 0);
    }
    latch.wait().await.unwrap();
}

#[tokio::test]
async fn a_latch_for_nobody_is_open() {
    let (tenure, _) = tenure();
    tenure.latch("start", 0).wait().within(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn arrivals_are_forgotten_after_a_while() {
    let (tenure, _, clock) = running();
    let latch = tenure.latch("start", 1).keep(Duration::from_secs(60));
    latch.arrive("a").await.unwrap();
    clock.advance(Duration::from_secs(59));
    // To repeat it does not put off the end.
    assert_eq!(latch.arrive("a").await.unwrap(), 0);
    clock.advance(Duration::from_secs(1));
    assert_eq!(latch.remaining().await.unwrap(), 1);
    assert_eq!(latch.arrive("a").await.unwrap(), 0);
}

#[tokio::test]
async fn a_wait_sees_the_last_arrival_within_a_second() {
    let (tenure, _, clock) = running();
    let latch = tenure.latch("start", 1);
    let waiter = tokio::spawn(latch.wait().into_future());
    // Long enough for the longest pauses.
    for _ in 0..40 {
        settle().await;
        clock.advance(Duration::from_millis(500));
    }
    settle().await;
    latch.arrive("a").await.unwrap();
    clock.advance(Duration::from_secs(1));
    settle().await;
    assert!(waiter.is_finished());
}

#[tokio::test]
async fn a_wait_that_ends_says_how_many_are_missing() {
    let (tenure, _, clock) = running();
    let latch = tenure.latch("start", 3);
    latch.arrive("a").await.unwrap();
    let waiter = tokio::spawn(latch.wait().within(Duration::from_secs(5)).into_future());
    while !waiter.is_finished() {
        settle().await;
        clock.advance(Duration::from_millis(100));
    }
    let error = waiter.await.unwrap().unwrap_err();
    let location = tenure.store().location();
    let says = format!(
        "lock \"start\" in {location}: 2 of 3 had not arrived within 5s; \
         wait longer, or see with `arrived` which are missing"
    );
    assert_eq!(format!("{error:#}"), says);
}

#[tokio::test]
async fn a_reset_closes_it_again() {
    let (tenure, _) = tenure();
    let latch = tenure.latch("start", 1);
    latch.arrive("a").await.unwrap();
    latch.reset().await.unwrap();
    assert_eq!(latch.remaining().await.unwrap(), 1);
    assert_eq!(latch.arrive("a").await.unwrap(), 0);
}

#[tokio::test]
async fn a_name_that_is_held_in_another_way_is_refused_and_says_by_whom() {
    let (tenure, _) = tenure();
    let _guard = tenure.mutex("start").label("a mutex").lock().await.unwrap();
    let error = tenure.latch("start", 1).arrive("a").await.unwrap_err();
    assert!(format!("{error:#}").contains("\"a mutex\" holds this name"), "{error:#}");
}

#[tokio::test]
async fn a_reset_leaves_a_name_alone_that_is_held_in_another_way() {
    let (tenure, store) = tenure();
    let guard = tenure.mutex("nightly").label("a mutex").lock().await.unwrap();
    let error = tenure.latch("nightly", 3).reset().await.unwrap_err();
    assert!(format!("{error:#}").contains("\"a mutex\" holds this name"), "{error:#}");
    let left = store.inspect(guard.name()).await.unwrap();
    assert_eq!(left.holders.len(), 1);
    guard.release().await.unwrap();
}

#[tokio::test]
async fn names_counts_and_lengths_out_of_range_are_refused() {
    let (tenure, _) = tenure();
    let refused = |error: LatchError| format!("{error:#}");
    let empty = tenure.latch("", 1).arrive("a").await.unwrap_err();
    assert!(matches!(empty, LatchError::Inspect(InspectError::Name(_))), "{empty}");
    let nobody = refused(tenure.latch("start", 1).arrive("").await.unwrap_err());
    assert!(nobody.starts_with("an arrival cannot be called \"\""), "{nobody}");
    let long = Duration::from_secs(25 * 60 * 60);
    let long = refused(tenure.latch("start", 1).keep(long).arrive("a").await.unwrap_err());
    assert!(long.starts_with("keep of 25h is out of range"), "{long}");
    let many = tenure.latch("start", 1_001);
    for many in [many.arrive("a").await.map(drop), many.wait().await] {
        let many = refused(many.unwrap_err());
        assert!(many.contains("1001 arrivals, but the store keeps 1000"), "{many}");
    }
}

#[tokio::test]
async fn more_arrivals_than_the_store_keeps_are_an_error() {
    let (tenure, _) = tenure();
    let latch = tenure.latch("start", 1_000);
    for who in 0..1_000 {
        latch.arrive(&who.to_string()).await.unwrap();
    }
    let LatchError::Inspect(InspectError::Store(full)) =
        latch.arrive("one more").await.unwrap_err()
    else {
        panic!("not refused by the store");
    };
    assert_eq!(full.fault.kind(), FaultKind::Full, "{full}");
    assert_eq!(latch.arrive("7").await.unwrap(), 0, "who is there arrives again");
    latch.reset().await.unwrap();
    assert_eq!(latch.arrive("one more").await.unwrap(), 999, "as the error advised");
}

#[tokio::test]
async fn a_store_that_cannot_keep_arrivals_refuses_the_latch() {
    type Lacks = fn(&mut tenure_core::store::Capabilities);
    let lacks: [Lacks; 2] = [|can| can.shared = false, |can| can.longest_keep = Duration::ZERO];
    for lacks in lacks {
        let tenure = Tenure::new(Arc::new(Flawed::new(MemoryStore::new()).without(lacks)));
        let latch = tenure.latch("start", 1);
        for refused in [latch.arrive("a").await.map(drop), latch.wait().await] {
            let refused = format!("{:#}", refused.unwrap_err());
            assert!(refused.contains("cannot keep a name taken"), "{refused:#}");
        }
    }
}

#[tokio::test]
async fn arrivals_are_kept_for_as_long_as_the_store_can_and_no_longer() {
    let longest = Duration::from_secs(60);
    let store = Flawed::new(MemoryStore::new()).without(|can| can.longest_keep = longest);
    let latch = Tenure::new(Arc::new(store)).latch("start", 2);
    assert_eq!(latch.clone().keep(longest).arrive("a").await.unwrap(), 1);
    let too_long = latch.keep(longest + Duration::from_millis(1));
    let refused = format!("{:#}", too_long.arrive("b").await.unwrap_err());
    assert!(refused.contains("60.001s, but this store keeps a name for 60s"), "{refused:#}");
    assert_eq!(too_long.remaining().await.unwrap(), 1);
}

#[tokio::test]
async fn an_arrival_that_is_reset_before_it_is_seen_is_made_again_for_half_a_minute() {
    const STEP: Duration = Duration::from_millis(500);
    for resets in [1, 50, 100] {
        let (tenure, store, clock) = on_flawed();
        store.flaws(|flaws| flaws.inspect = Some(Flaw::Late(clock.clone(), STEP / 5)));
        let latch = tenure.latch("start", 1);
        let arriving = tokio::spawn(async move { latch.arrive("a").await });
        for step in 0..100 {
            settle().await;
            if step < resets {
                store.evict(&name("start")).await.unwrap();
            }
            clock.advance(STEP);
        }
        let arrived = arriving.await.unwrap();
        if resets < 60 {
            assert_eq!(arrived.unwrap(), 0);
        } else {
            let unseen = format!("{:#}", arrived.unwrap_err());
            assert!(unseen.contains("the arrival of \"a\" keeps disappearing"), "{unseen}");
        }
    }
}
