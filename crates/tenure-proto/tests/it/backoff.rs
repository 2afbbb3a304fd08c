//! Growing pauses.

use std::time::Duration;

use proptest::prelude::*;
use tenure_proto::Backoff;

use crate::world::ms;

#[test]
fn the_longest_pauses_grow_threefold_up_to_the_limit() {
    let mut backoff = Backoff::new(ms(10), ms(200));
    let pauses: Vec<Duration> = (0..5).map(|_| backoff.next(u64::MAX)).collect();
    assert_eq!(pauses, [ms(30), ms(90), ms(200), ms(200), ms(200)]);
    backoff.reset();
    assert_eq!(backoff.next(u64::MAX), ms(30));
}

#[test]
fn the_shortest_pause_is_kept_to() {
    let mut backoff = Backoff::new(ms(10), ms(200));
    assert_eq!(backoff.next(0), ms(10));
    assert_eq!(backoff.next(0), ms(10));
}

#[test]
fn pauses_grow_also_from_nothing() {
    let mut backoff = Backoff::new(Duration::ZERO, ms(1));
    let pauses: Vec<Duration> = (0..20).map(|_| backoff.next(u64::MAX)).collect();
    assert_eq!(pauses.last(), Some(&ms(1)));
}

proptest! {
    #[test]
    fn every_pause_lies_between_the_limits(
        least: Duration,
        most: Duration,
        random in proptest::collection::vec(any::<u64>(), 1..20),
    ) {
        let mut backoff = Backoff::new(least, most);
        let end = Duration::from_nanos(u64::MAX);
        let least = least.clamp(Duration::from_nanos(1), end);
        for random in random {
            let pause = backoff.next(random);
            prop_assert!(pause >= least && pause <= most.max(least).min(end), "{pause:?}");
        }
    }
}
