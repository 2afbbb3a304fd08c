//! Who comes while as many wait as a store allows.

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt;
use tenure_core::{
    AcquireError, LockName, ManualClock, MemoryStore, Owner, Store, Tenure,
    proto::queue::{Ask, Intent, Kind, Mode, Order},
};
use tokio::task::JoinHandle;

use crate::{flawed::Flawed, on_manual_clock, settle, waiters};

/// Longer than those who come wait for the one that asks for all of them.
const SOON: Duration = Duration::from_millis(50);

fn ask(number: u128) -> Ask {
    Ask {
        owner: Owner::from_bytes(number.to_be_bytes()),
        kind: Kind::Mutex,
        mode: Mode::Exclusive,
        order: Order::Fifo,
        intent: Intent::Wait { position: None },
        ttl: Duration::from_secs(3600),
        label: "".into(),
    }
}

/// A process whose asks are counted, on a store where as many wait for `a` as it allows: owners from 1 on.
async fn full_line() -> (Tenure, Flawed, MemoryStore, ManualClock) {
    let (_, _, store, clock) = on_manual_clock();
    for number in 0..=store.capabilities().max_waiters as u128 {
        store.acquire(&name(), &ask(number)).await.unwrap();
    }
    let flawed = Flawed::new(store.clone());
    let builder = Tenure::builder(Arc::new(flawed.clone())).clock(Arc::new(clock.clone()));
    let (tenure, engine) = builder.build_inline();
    tokio::spawn(engine);
    (tenure, flawed, store, clock)
}

fn name() -> LockName {
    LockName::new("a").unwrap()
}

async fn leave(store: &MemoryStore, number: u128) {
    store.release(&name(), &ask(number).owner, Duration::ZERO).await.unwrap();
}

type Waits = JoinHandle<Result<(), AcquireError>>;

fn come(tenure: &Tenure, count: usize) -> Vec<Waits> {
    let come = |_| {
        let lock = tenure.mutex("a").fair().lock().into_future();
        tokio::spawn(async move { lock.await.map(drop) })
    };
    (0..count).map(come).collect()
}

/// How many were refused; they are told how many wait.
async fn refused(all: &mut Vec<Waits>) -> usize {
    settle().await;
    let mut refused = 0;
    for at in (0..all.len()).rev() {
        if all[at].is_finished() {
            let error = all.swap_remove(at).await.unwrap().unwrap_err();
            let AcquireError::Full(failure) = error else { panic!("{error:#}") };
            let said = format!("{:#}", failure.fault);
            assert!(said.contains("1000"), "{said}");
            refused += 1;
        }
    }
    refused
}

#[tokio::test]
async fn all_who_come_to_a_full_line_are_refused_by_one_ask_made_after_they_came() {
    let (tenure, flawed, _, clock) = full_line().await;
    assert_eq!(refused(&mut come(&tenure, 1)).await, 1);
    assert_eq!(flawed.asks()[0], 1);
    let mut all = come(&tenure, 100);
    assert_eq!(refused(&mut all).await, 0, "by what was seen before they came");
    assert_eq!(flawed.asks()[0], 1);
    clock.advance(SOON);
    assert_eq!(refused(&mut all).await, 100);
    assert_eq!(flawed.asks()[0], 2);
    assert_eq!(refused(&mut come(&tenure, 10)).await, 0, "so soon");
    assert_eq!(flawed.asks()[0], 2);
    // Who only tries is no waiter, nor is one for another name.
    let tries = tenure.mutex("a").fair().try_lock().into_future().now_or_never().unwrap();
    assert!(tries.unwrap().is_none());
    assert!(tenure.mutex("b").fair().lock().into_future().now_or_never().unwrap().is_ok());
    assert_eq!(flawed.asks()[0], 4);
}

#[tokio::test]
async fn one_comes_in_for_each_who_leaves_a_full_line() {
    let (tenure, flawed, store, clock) = full_line().await;
    assert_eq!(refused(&mut come(&tenure, 1)).await, 1);
    let mut all = come(&tenure, 100);
    settle().await;
    leave(&store, 1).await;
    leave(&store, 2).await;
    clock.advance(SOON);
    assert_eq!(refused(&mut all).await, 98);
    assert_eq!(waiters(&store, "a").await, 1_000);
    assert_eq!(flawed.asks()[0], 4, "the first, two that found room, and one that found none");
}

#[tokio::test]
async fn all_ask_where_there_is_room_again() {
    let (tenure, flawed, store, clock) = full_line().await;
    assert_eq!(refused(&mut come(&tenure, 1)).await, 1);
    let mut all = come(&tenure, 300);
    settle().await;
    for number in 1..=200 {
        leave(&store, number).await;
    }
    clock.advance(SOON);
    assert_eq!(refused(&mut all).await, 100);
    assert_eq!(waiters(&store, "a").await, 1_000);
    // Four in a row who find room.
    clock.advance(SOON);
    for number in 201..=204 {
        leave(&store, number).await;
        assert_eq!(refused(&mut come(&tenure, 1)).await, 0);
    }
    let before = flawed.asks()[0];
    flawed.fall_silent(true);
    assert_eq!(refused(&mut come(&tenure, 10)).await, 0);
    assert_eq!(flawed.asks()[0], before + 10);
}

#[tokio::test]
async fn one_that_asks_for_all_and_is_not_answered_keeps_the_others_for_a_moment() {
    let (tenure, flawed, _, clock) = full_line().await;
    assert_eq!(refused(&mut come(&tenure, 1)).await, 1);
    clock.advance(SOON);
    flawed.fall_silent(true);
    let mut kept = Box::pin(tenure.mutex("a").fair().lock().into_future());
    assert!((&mut kept).now_or_never().is_none());
    flawed.fall_silent(false);
    let mut all = come(&tenure, 10);
    assert_eq!(refused(&mut all).await, 0);
    clock.advance(Duration::from_millis(150));
    assert_eq!(refused(&mut all).await, 10);
    assert_eq!(flawed.asks()[0], 3);
    // One that is dropped lets the next one ask at once.
    clock.advance(SOON);
    flawed.fall_silent(true);
    let mut dropped = Box::pin(tenure.mutex("a").fair().lock().into_future());
    assert!((&mut dropped).now_or_never().is_none());
    flawed.fall_silent(false);
    let mut all = come(&tenure, 10);
    assert_eq!(refused(&mut all).await, 0);
    drop(dropped);
    assert_eq!(refused(&mut all).await, 10);
}

#[tokio::test]
async fn all_ask_for_themselves_where_one_is_not_answered_yes_or_no() {
    let (tenure, flawed, _, clock) = full_line().await;
    assert_eq!(refused(&mut come(&tenure, 1)).await, 1);
    let mut all = come(&tenure, 10);
    settle().await;
    flawed.refuse_asks(true);
    clock.advance(SOON);
    assert_eq!(refused(&mut all).await, 0);
    assert_eq!(flawed.asks()[0], 11);
}

#[tokio::test]
async fn a_wait_at_a_full_line_ends_in_time_and_says_that_it_is_full() {
    let (tenure, flawed, _, clock) = full_line().await;
    assert_eq!(refused(&mut come(&tenure, 1)).await, 1);
    let lock = tenure.mutex("a").fair().lock().wait(Duration::from_millis(5)).into_future();
    let mut all = vec![tokio::spawn(async move { lock.await.map(drop) })];
    assert_eq!(refused(&mut all).await, 0);
    clock.advance(Duration::from_millis(6));
    assert_eq!(refused(&mut all).await, 1);
    assert_eq!(flawed.asks()[0], 1);
}

#[tokio::test]
async fn nobody_waits_for_others_where_the_line_was_full_long_ago() {
    let (tenure, flawed, _, clock) = full_line().await;
    assert_eq!(refused(&mut come(&tenure, 1)).await, 1);
    // Another line goes on being full.
    for seconds in [0, 2] {
        clock.advance(Duration::from_secs(seconds));
        let reads = tenure.rwlock("a").read().into_future().now_or_never().unwrap();
        assert!(matches!(reads, Err(AcquireError::Full(_))));
    }
    flawed.fall_silent(true);
    assert_eq!(refused(&mut come(&tenure, 10)).await, 0);
    assert_eq!(flawed.asks()[0], 13);
}
