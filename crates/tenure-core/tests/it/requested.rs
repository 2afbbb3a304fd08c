//! A release request: the holder hears of it, keeps what it holds, and nothing is passed on behind it.

use std::time::Duration;

use futures_util::FutureExt;
use tenure_core::{Eviction, Evictions, Guard, HintBoard, LostReason, Owner, Scope, Store};

use crate::{
    flawed::{Call, Flawed, on_flawed},
    on_count::OnCount,
    running, settle,
};

const TTL: Duration = Duration::from_secs(30);

/// Asks whoever asked last for the guard's name, until the engine has told it.
async fn request(store: &Flawed, guard: &Guard) {
    store.request_release(&store.last(guard.name()));
    settle().await;
}

fn is_requested(guard: &Guard) -> bool {
    let told = guard.release_requested().now_or_never().is_some();
    assert_eq!(told, guard.is_release_requested());
    told
}

#[tokio::test]
async fn a_holder_that_is_asked_to_let_go_hears_of_it_and_keeps_its_lock() {
    let (tenure, store, _clock) = on_flawed();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    let other = tenure.mutex("b").ttl(TTL).lock().await.unwrap();
    settle().await;
    assert!(!is_requested(&guard));
    let (deadline, waits) = (guard.deadline(), tokio::spawn(guard.release_requested()));
    settle().await;
    request(&store, &guard).await;
    assert!(waits.is_finished(), "it waits on");
    assert!(is_requested(&guard) && is_requested(&guard), "it is once requested for good");
    assert!(!is_requested(&other));
    guard.check().unwrap();
    assert!(guard.lost().now_or_never().is_none());
    assert_eq!((guard.deadline(), store.renewals()), (deadline, 0));
    guard.release().await.unwrap();
}

#[tokio::test]
async fn guards_of_every_kind_hear_of_it() {
    let (tenure, store, _clock) = on_flawed();
    let reader = tenure.rwlock("r").ttl(TTL).read().await.unwrap();
    request(&store, &reader).await;
    let permit = tenure.semaphore("p", 2).ttl(TTL).acquire().await.unwrap();
    request(&store, &permit).await;
    assert!(is_requested(&reader) && is_requested(&permit));

    let writer = tenure.rwlock("w").ttl(TTL).write().await.unwrap();
    request(&store, &writer).await;
    let reading = writer.downgrade().await.unwrap();
    assert!(is_requested(&reading), "it is the same hold");

    let scope = Scope::new();
    let reentrant = tenure.mutex("e").ttl(TTL).reentrant().within(&scope);
    let outer = reentrant.lock().await.unwrap();
    request(&store, &outer).await;
    let inner = reentrant.lock().await.unwrap();
    assert!(is_requested(&outer) && is_requested(&inner));

    let both = tenure.all(["x", "y"]).ttl(TTL).lock().await.unwrap();
    settle().await;
    assert!(both.release_requested().now_or_never().is_none() && !both.is_release_requested());
    request(&store, &both.parts()[1]).await;
    assert!(both.release_requested().now_or_never().is_some() && both.is_release_requested());
    assert_eq!(both.parts().iter().map(is_requested).collect::<Vec<_>>(), [false, true]);
}

#[tokio::test]
async fn who_has_let_go_is_asked_nothing() {
    let (tenure, store, _clock) = on_flawed();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    let (owner, mut waits) = (store.last(guard.name()), Box::pin(guard.release_requested()));
    assert!((&mut waits).now_or_never().is_none());
    guard.release().await.unwrap();
    let next = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    settle().await;
    store.request_release(&owner);
    settle().await;
    assert!(waits.now_or_never().is_none());
    assert!(!is_requested(&next), "it was another hold that somebody asked for");
}

#[tokio::test]
async fn a_lease_is_passed_on_to_no_task_of_the_process_once_its_release_is_requested() {
    for requested in [false, true] {
        let (tenure, store, _clock) = on_flawed();
        let mutex = tenure.mutex("a").ttl(TTL);
        let guard = mutex.lock().await.unwrap();
        let next = tokio::spawn(mutex.lock().into_future());
        settle().await;
        if requested {
            request(&store, &guard).await;
        }
        store.diary();
        guard.release().await.unwrap();
        let next = next.await.unwrap().unwrap();
        let asked = store.diary().iter().any(|call| matches!(call, Call::Turn(_)));
        assert_eq!(asked, requested, "the store decides who is next");
        assert!(!is_requested(&next), "its hold is its own");
        next.check().unwrap();
    }
}

#[tokio::test]
async fn a_task_that_was_handed_the_lease_before_hears_of_it() {
    let (tenure, store, _clock) = on_flawed();
    let mutex = tenure.mutex("a").ttl(TTL);
    let guard = mutex.lock().await.unwrap();
    let owner = store.last(guard.name());
    let next = tokio::spawn(mutex.lock().into_future());
    settle().await;
    let mut gone = Box::pin(guard.release_requested());
    assert!((&mut gone).now_or_never().is_none());
    guard.release().await.unwrap();
    let next = next.await.unwrap().unwrap();
    settle().await;
    store.request_release(&owner);
    settle().await;
    assert!(is_requested(&next));
    assert!(gone.now_or_never().is_none(), "it had let go by then");
}

/// Who complies is asked and evicted in one breath. The clock stands still: nothing is put off.
#[tokio::test]
async fn an_eviction_that_follows_a_request_is_told_at_once() {
    let (tenure, store, _clock) = on_flawed();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    settle().await;
    request(&store, &guard).await;
    store.evict(guard.name()).await.unwrap();
    settle().await;
    assert_eq!(guard.lost().now_or_never().unwrap().reason, LostReason::Taken);
    assert!(is_requested(&guard), "it was asked all the same");
}

#[tokio::test]
async fn a_store_without_requests_tells_of_none() {
    let (tenure, store, _clock) = running();
    assert!(!store.capabilities().tells_release_requests);
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    settle().await;
    store.evict(guard.name()).await.unwrap();
    settle().await;
    guard.check().unwrap_err();
    assert!(!is_requested(&guard));
}

/// What a store tells again is no other request.
#[test]
fn a_request_is_counted_once() {
    let count = OnCount::of("tenure_release_requests_total");
    count.run(async {
        let (tenure, store, _clock) = on_flawed();
        let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
        settle().await;
        count.next_time(|| {});
        request(&store, &guard).await;
        count.next_time(|| panic!("it is counted again"));
        request(&store, &guard).await;
        count.next_time(|| {});
        let other = tenure.mutex("b").ttl(TTL).lock().await.unwrap();
        request(&store, &other).await;
    });
}

#[test]
fn requests_that_nobody_hears_are_kept_once_for_each_hold_up_to_a_bound() {
    let board = HintBoard::new();
    let mut told = board.evictions();
    let mut heard = || heard(&mut told);
    let owner =
        |number: u16| Owner::from_bytes([number.to_be_bytes(); 8].concat().try_into().unwrap());
    board.evictions_missed();
    for _ in 0..3 {
        board.release_requested(&owner(1));
    }
    let one = Eviction::ReleaseRequested(owner(1));
    assert_eq!(heard(), [one, Eviction::Any], "the request comes first");
    for number in 0..5_000 {
        board.release_requested(&owner(number));
    }
    assert_eq!(heard().len(), 1_024);
}

/// What a listener was told of and has not heard.
fn heard(evictions: &mut Evictions) -> Vec<Eviction> {
    std::iter::from_fn(|| evictions.next().now_or_never()).collect()
}
