//! The two clocks.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::FutureExt;
use tenure_core::{Clock, ManualClock, SystemClock};

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
