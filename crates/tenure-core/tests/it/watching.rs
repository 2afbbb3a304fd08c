//! Watching a lock without a part in it.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use tenure_core::{
    FaultKind, InspectError, LockName, ManualClock, Watcher, proto::queue::Snapshot,
};

use crate::{
    STEP, ends_within,
    flawed::{Flaw, Flawed, on_flawed},
    running, settle,
};

/// The shortest pause between two looks, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

async fn news(watcher: &mut Watcher) -> Snapshot {
    watcher.next().await.unwrap().unwrap()
}

/// Who holds it, as it is seen.
fn holders(seen: &Snapshot) -> Vec<&str> {
    seen.holders.iter().map(|holder| &*holder.label).collect()
}

/// Lets time pass in which nothing changes.
async fn nothing_happens(clock: &ManualClock) {
    for _ in 0..40 {
        clock.advance(STEP);
        settle().await;
    }
}

#[tokio::test]
async fn the_first_news_come_at_once_and_then_each_change_within_a_second() {
    let (tenure, _, clock) = running();
    let mut watcher = tenure.watch("a");
    assert!(!watcher.next().now_or_never().unwrap().unwrap().unwrap().is_held());
    let change = tokio::spawn(async move { (news(&mut watcher).await, watcher) });
    nothing_happens(&clock).await;
    assert!(!change.is_finished(), "there is no news");
    let guard = tenure.mutex("a").label("web-1").lock().await.unwrap();
    clock.advance(PAUSES.1);
    settle().await;
    assert!(change.is_finished(), "the news are late");
    let (seen, mut watcher) = change.await.unwrap();
    assert_eq!(holders(&seen), ["web-1"]);

    let change = tokio::spawn(async move { (news(&mut watcher).await, watcher) });
    // It is renewed meanwhile, which is no news.
    nothing_happens(&clock).await;
    assert!(!change.is_finished(), "a renewal is no news");
    drop(guard);
    assert!(ends_within(STEP * 4, &change, &clock).await);
    assert!(holders(&change.await.unwrap().0).is_empty());
}

#[tokio::test]
async fn news_come_as_a_stream_that_ends_with_the_tenure() {
    let (tenure, _, _clock) = running();
    let _guard = tenure.mutex("a").label("web-1").lock().await.unwrap();
    let mut stream = Box::pin(tenure.watch("a").into_stream());
    assert_eq!(holders(&stream.next().await.unwrap().unwrap()), ["web-1"]);
    let rest = tokio::spawn(async move { stream.next().await.is_none() });
    settle().await;
    assert!(!rest.is_finished());
    let _ = tenure.shutdown(Duration::ZERO).await;
    settle().await;
    assert!(rest.is_finished(), "it goes on");
    assert!(rest.await.unwrap(), "it ends");
    assert!(tenure.watch("a").next().await.is_none(), "it does not begin");
    assert!(tenure.inspect("a").await.unwrap().is_held(), "but it can still be inspected");
}

#[tokio::test]
async fn a_watcher_that_is_dropped_midway_misses_nothing() {
    let (tenure, _, clock) = running();
    let mut watcher = tenure.watch("a");
    news(&mut watcher).await;
    assert!(watcher.next().now_or_never().is_none());
    let _guard = tenure.mutex("a").label("web-1").lock().await.unwrap();
    assert!(watcher.next().now_or_never().is_none(), "it was asked just now");
    clock.advance(PAUSES.1);
    let seen = watcher.next().now_or_never().unwrap().unwrap().unwrap();
    assert_eq!(holders(&seen), ["web-1"]);
}

/// A watcher of a store that hints, which has looked so often that its pauses are long.
async fn patient(store: &Flawed, clock: &ManualClock, mut watcher: Watcher) -> Watcher {
    store.forge_hints();
    news(&mut watcher).await;
    for _ in 0..40 {
        clock.advance(STEP);
        assert!(watcher.next().now_or_never().is_none());
    }
    watcher
}

#[tokio::test]
async fn a_hint_of_the_store_wakes_it_before_its_pause_is_over() {
    let (tenure, store, clock) = on_flawed();
    let name = LockName::new("a").unwrap();
    let mut watcher = patient(&store, &clock, tenure.watch("a")).await;
    let _guard = tenure.mutex("a").label("web-1").lock().await.unwrap();
    let change = tokio::spawn(async move { news(&mut watcher).await });
    settle().await;
    store.hint(&name);
    for _ in 0..2 {
        clock.advance(PAUSES.0);
        settle().await;
    }
    assert!(change.is_finished(), "it was not woken");
    assert_eq!(holders(&change.await.unwrap()), ["web-1"]);
}

#[tokio::test]
async fn hints_without_end_make_it_ask_no_more_often_than_every_20_ms() {
    let (tenure, store, clock) = on_flawed();
    let name = LockName::new("a").unwrap();
    let mut watcher = patient(&store, &clock, tenure.watch("a")).await;
    let before = store.inspects();
    let change = tokio::spawn(async move { news(&mut watcher).await });
    for _ in 0..1_000 {
        store.hint(&name);
        clock.advance(Duration::from_millis(1));
        settle().await;
    }
    let asked = store.inspects() - before;
    assert!((20..=51).contains(&asked), "{asked} times in a second");
    change.abort();
}

#[tokio::test]
async fn who_gives_up_on_an_answer_again_and_again_asks_no_more_often() {
    let (tenure, store, clock) = on_flawed();
    store.flaws(|flaws| flaws.inspect = Some(Flaw::Silent));
    let mut watcher = tenure.watch("a");
    for _ in 0..1_000 {
        assert!(watcher.next().now_or_never().is_none());
        clock.advance(Duration::from_millis(1));
    }
    let asked = store.inspects();
    assert!(asked <= 51, "{asked} times in a second");
}

#[tokio::test]
async fn a_store_that_cannot_be_asked_is_an_error_and_not_the_end() {
    let (tenure, store, clock) = on_flawed();
    let mut watcher = tenure.watch("a");
    store.flaws(|flaws| flaws.inspect = Some(Flaw::Fails(FaultKind::Unreachable)));
    let failing = tokio::spawn(async move { (watcher.next().await, watcher) });
    assert!(!ends_within(Duration::from_secs(28), &failing, &clock).await);
    assert!(ends_within(Duration::from_secs(3), &failing, &clock).await);
    let (failed, mut watcher) = failing.await.unwrap();
    let kind = |failed: Result<_, InspectError>| failed.unwrap_err().fault().unwrap().kind();
    assert_eq!(kind(failed.unwrap()), FaultKind::Unreachable);
    store.flaws(|flaws| flaws.inspect = Some(Flaw::Fails(FaultKind::Corrupt)));
    clock.advance(PAUSES.1);
    let failed = watcher.next().now_or_never().unwrap().unwrap();
    assert_eq!(kind(failed), FaultKind::Corrupt);
    // Whoever asks again at once is held up.
    assert!(watcher.next().now_or_never().is_none());
    store.flaws(|flaws| flaws.inspect = None);
    clock.advance(PAUSES.1);
    assert!(!news(&mut watcher).await.is_held());
}

#[tokio::test]
async fn transient_faults_are_no_news() {
    let (tenure, store, clock) = on_flawed();
    store.lose_answers(3);
    let mut watcher = tenure.watch("a");
    let first = tokio::spawn(async move { news(&mut watcher).await });
    assert!(ends_within(Duration::from_secs(10), &first, &clock).await);
    assert!(!first.await.unwrap().is_held());
}

#[tokio::test]
async fn a_name_that_cannot_be_used_is_an_error_once_and_the_end() {
    let (tenure, _, _) = running();
    let mut watcher = tenure.watch("");
    assert!(matches!(watcher.next().await, Some(Err(InspectError::Name(_)))));
    assert!(watcher.next().await.is_none());
}

#[tokio::test]
async fn a_watcher_takes_no_part_in_the_lock() {
    let (tenure, store, clock) = on_flawed();
    let mut watcher = tenure.watch("a");
    news(&mut watcher).await;
    assert!(watcher.next().now_or_never().is_none());
    assert!(!store.diary().iter().any(|call| *call != crate::flawed::Call::Listen));
    drop(watcher);
    tenure.shutdown(Duration::from_secs(1)).now_or_never().unwrap().unwrap();
    let _ = clock;
}
