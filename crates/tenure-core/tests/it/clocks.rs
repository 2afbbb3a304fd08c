//! The clocks.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use futures_util::FutureExt;
use tenure_core::{
    AcquireError, Clock, LostReason, ManualClock, MemoryStore, Store, SystemClock, Tenure,
    TokioClock,
};

#[test]
fn the_time_of_day_goes_on_from_where_it_was_set() {
    let clock = ManualClock::new();
    clock.advance(Duration::from_secs(7));
    clock.set_wall(1_000_000);
    clock.advance(Duration::from_micros(1_500));
    assert_eq!(clock.wall(), 1_001_500);
}

#[test]
fn the_machine_tells_its_time_of_day_in_microseconds() {
    let told = || u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros());
    let (before, seen, after) = (told().unwrap(), SystemClock.wall(), told().unwrap());
    assert!((before..=after).contains(&seen), "{before} {seen} {after}");
}

#[tokio::test]
async fn a_sleep_until_the_past_is_over() {
    let now = SystemClock.now();
    assert!(SystemClock.sleep_until(now).now_or_never().is_some());
    let later = now.saturating_add(Duration::from_secs(600));
    assert!(SystemClock.sleep_until(later).now_or_never().is_none());
}

/// How often a future is polled until it is over, at most so often.
async fn polls(mut sleep: tenure_core::clock::Sleep, most: u32) -> u32 {
    let mut polls = 0;
    std::future::poll_fn(|context| {
        polls += 1;
        if polls == most { std::task::Poll::Ready(()) } else { sleep.as_mut().poll(context) }
    })
    .await;
    polls
}

#[tokio::test(start_paused = true)]
async fn a_wait_on_the_machines_clock_does_not_spin_while_the_runtime_is_paused() {
    let until = SystemClock.now().saturating_add(Duration::from_millis(100));
    let polls = polls(SystemClock.sleep_until(until), 1_000).await;
    assert!(SystemClock.now() >= until, "it ended early");
    assert!(polls < 100, "polled {polls} times");
}

#[tokio::test(start_paused = true)]
async fn a_clock_of_tokio_goes_as_its_runtime_does() {
    let clock = TokioClock::new();
    let (now, wall, real) = (clock.now(), clock.wall(), SystemClock.now());
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(clock.now().since(now), Duration::from_secs(60));
    clock.sleep_until(now.saturating_add(Duration::from_secs(3_600))).await;
    assert_eq!(clock.now().since(now), Duration::from_secs(3_600));
    assert_eq!(clock.wall() - wall, 3_600_000_000);
    assert!(SystemClock.now().since(real) < Duration::from_secs(60));
}

#[tokio::test(start_paused = true)]
async fn holds_live_and_end_on_the_clock_of_a_paused_runtime() {
    let clock = Arc::new(TokioClock::new());
    let store = MemoryStore::with_clock(clock.clone());
    let shared = Arc::new(store.clone());
    let tenure = Tenure::builder(shared).clock(clock.clone()).build_in_runtime();
    let guard = tenure.mutex("a").ttl(Duration::from_secs(30)).lock().await.unwrap();
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    guard.check().unwrap();
    let waited = tenure.mutex("a").fair().lock().wait(Duration::from_secs(60)).await;
    assert!(matches!(waited, Err(AcquireError::TimedOut(_))));
    store.evict(guard.name()).await.unwrap();
    assert_eq!(guard.lost().await.reason, LostReason::Taken);
}
