//! An eviction is told: the holder renews at once, and the answer decides.

use std::{sync::mpsc, time::Duration};

use futures_util::FutureExt;
use tenure_core::{
    Eviction, Evictions, FaultKind, HintBoard, LockName, LostReason, Store, proto::hold::HINT_GAP,
};

use crate::{
    flawed::{Flaw, on_flawed},
    running, settle,
};

const TTL: Duration = Duration::from_secs(30);
const STEP: Duration = Duration::from_millis(100);

fn name(text: &str) -> LockName {
    LockName::new(text).unwrap()
}

/// What a listener was told of and has not heard.
fn heard(evictions: &mut Evictions) -> Vec<String> {
    let told = std::iter::from_fn(|| evictions.next().now_or_never());
    let told = told.map(|eviction| match eviction {
        Eviction::Of(name) => name.to_string(),
        other => format!("{other:?}"),
    });
    told.collect()
}

#[tokio::test]
async fn an_evicted_holder_is_told_at_once() {
    let (tenure, store, _clock) = running();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    let other = tenure.mutex("b").ttl(TTL).lock().await.unwrap();
    settle().await;
    store.evict(guard.name()).await.unwrap();
    settle().await;
    // The clock stands still: no renewal was due.
    let lost = guard.lost().now_or_never().unwrap();
    assert_eq!(lost.reason, LostReason::Taken);
    assert!(guard.check().is_err());
    other.check().unwrap();
}

#[tokio::test]
async fn readers_are_all_told() {
    let (tenure, store, _clock) = running();
    let one = tenure.rwlock("a").ttl(TTL).read().await.unwrap();
    let other = tenure.rwlock("a").ttl(TTL).read().await.unwrap();
    settle().await;
    store.evict(one.name()).await.unwrap();
    settle().await;
    assert!(one.check().is_err() && other.check().is_err());
}

#[tokio::test]
async fn a_holder_whose_longest_hold_needs_no_renewal_is_told_too() {
    let (tenure, store, _clock) = running();
    let guard = tenure.mutex("a").ttl(TTL).max_hold(TTL / 2).lock().await.unwrap();
    settle().await;
    store.evict(guard.name()).await.unwrap();
    settle().await;
    assert!(guard.check().is_err());
}

#[tokio::test]
async fn a_hint_for_a_hold_that_is_there_changes_nothing() {
    let (tenure, store, clock) = on_flawed();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    settle().await;
    store.forge_eviction(&name("b"));
    settle().await;
    assert_eq!(store.renewals(), 0, "it was another name's");
    clock.advance(HINT_GAP);
    settle().await;
    for _ in 0..100 {
        store.forge_eviction(guard.name());
        store.forge_eviction(&name("unknown"));
        settle().await;
    }
    guard.check().unwrap();
    assert_eq!(store.renewals(), 1, "one renewal, however many hints there are");
    clock.advance(HINT_GAP);
    settle().await;
    guard.check().unwrap();
    assert_eq!(store.renewals(), 2, "the last hint came after the first renewal");
}

#[test]
fn a_flood_of_hints_keeps_the_engine_from_nothing_else() {
    let (done, ended) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (tenure, store, clock) = on_flawed();
            let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
            settle().await;
            store.flood(guard.name());
            for _ in 0..10 {
                settle().await;
                guard.check().unwrap();
                clock.advance(HINT_GAP);
            }
            done.send(store.renewals()).unwrap();
        });
    });
    let renewals = ended.recv_timeout(Duration::from_secs(20));
    assert_eq!(renewals, Ok(10), "the engine gives way to others, and renews once in each gap");
}

#[tokio::test]
async fn a_hold_that_was_left_to_expire_is_not_renewed_for_a_hint() {
    let (tenure, store, _clock) = on_flawed();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    let name = guard.name().clone();
    settle().await;
    let _left = guard.leave_to_expire();
    store.forge_eviction(&name);
    settle().await;
    assert_eq!(store.renewals(), 0);
}

#[tokio::test]
async fn what_could_not_be_released_is_when_the_store_has_come_back() {
    let (tenure, store, clock) = on_flawed();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    let name = guard.name().clone();
    store.flaws(|flaws| flaws.release = Some(Flaw::Fails(FaultKind::Unreachable)));
    drop(guard);
    for _ in 0..100 {
        settle().await;
        clock.advance(STEP);
    }
    settle().await;
    store.flaws(|flaws| flaws.release = None);
    assert_eq!(store.inspect(&name).await.unwrap().holders.len(), 1);
    // The clock stands still: no attempt was due.
    store.miss_evictions();
    settle().await;
    assert!(store.inspect(&name).await.unwrap().holders.is_empty());
}

#[test]
fn each_listener_is_told_of_each_name_once() {
    let board = HintBoard::new();
    board.evicted(&name("before"));
    let (mut one, mut other) = (board.evictions(), board.evictions());
    for text in ["b", "a", "b"] {
        board.evicted(&name(text));
    }
    assert_eq!(heard(&mut one), ["a", "b"]);
    drop(one);
    board.evicted(&name("c"));
    assert_eq!(heard(&mut other), ["a", "b", "c"]);
    board.evicted(&name("d"));
    board.evictions_missed();
    assert_eq!(heard(&mut other), ["Any"]);
    assert_eq!(heard(&mut other), [""; 0]);
}

#[test]
fn what_nobody_listens_to_is_bounded() {
    let board = HintBoard::new();
    let mut evictions = board.evictions();
    for number in 0..5_000 {
        board.evicted(&name(&format!("{number}")));
    }
    assert_eq!(heard(&mut evictions).len(), 1_024);
}

#[test]
fn only_what_is_heeded_is_told_of() {
    let boards = [HintBoard::new(), HintBoard::new()];
    let sources = boards.iter().map(HintBoard::evictions).collect();
    let a = Eviction::Of(name("a"));
    let mut merged = Evictions::merged(sources, move |from, told| from == 1 || *told == a);
    for board in &boards {
        board.evicted(&name("a"));
        board.evicted(&name("b"));
    }
    assert_eq!(heard(&mut merged), ["a", "a", "b"]);
}

#[tokio::test]
async fn a_listener_is_woken() {
    let board = HintBoard::new();
    let mut evictions = board.evictions();
    let hears = tokio::spawn(async move { evictions.next().await });
    settle().await;
    board.evicted(&name("a"));
    assert_eq!(hears.await.unwrap(), Eviction::Of(name("a")));
    assert!(Evictions::silent().next().now_or_never().is_none());
}

/// The store said that the hold is there before it was taken away, and is heard after that.
#[tokio::test]
async fn a_hint_during_a_renewal_is_not_lost() {
    let (tenure, store, clock) = on_flawed();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    store.flaws(|flaws| flaws.renew = Some(Flaw::Late(clock.clone(), STEP)));
    settle().await;
    store.forge_eviction(guard.name());
    settle().await;
    assert_eq!(store.renewals(), 1);
    store.forge_eviction(guard.name());
    settle().await;
    store.flaws(|flaws| flaws.renew = None);
    clock.advance(STEP);
    settle().await;
    assert_eq!(store.renewals(), 2);
    guard.check().unwrap();
}

#[tokio::test]
async fn all_holds_are_looked_into_when_hints_were_missed() {
    let (tenure, store, clock) = on_flawed();
    let guards = [
        tenure.mutex("a").ttl(TTL).lock().await.unwrap(),
        tenure.mutex("b").ttl(TTL).lock().await.unwrap(),
    ];
    settle().await;
    store.tell_evictions(false);
    store.evict(guards[0].name()).await.unwrap();
    settle().await;
    guards[0].check().unwrap();
    store.miss_evictions();
    settle().await;
    assert_eq!(store.renewals(), 1, "one after another");
    clock.advance(Duration::from_secs(1));
    settle().await;
    assert_eq!(store.renewals(), 2);
    assert!(guards[0].check().is_err());
    guards[1].check().unwrap();
}
