//! Taking back what an abandoned acquisition may have left.

use std::time::Duration;

use proptest::prelude::*;
use tenure_proto::{
    Timestamp,
    cleanup::{AcquisitionCleanup, Attempt},
};

use crate::world::{at, ms};

/// When the attempts are made, in milliseconds after the start, if each is made when it is due.
fn schedule(ttl: Duration, calls_outlive_drop: bool, attempts: &[Attempt]) -> (Vec<u64>, bool) {
    let mut cleanup = AcquisitionCleanup::new(at(0), ttl, calls_outlive_drop);
    let mut due = Vec::new();
    for attempt in attempts {
        let now = cleanup.next_attempt();
        due.push(now.as_nanos() / 1_000_000);
        if cleanup.attempted(now, *attempt) {
            return (due, true);
        }
    }
    (due, false)
}

/// The ttl in milliseconds, late calls, results; then when attempts are made, and whether they end.
type Case = (u64, bool, &'static [Attempt], &'static [u64], bool);

#[test]
fn attempts_go_on_until_the_store_is_sure() {
    use Attempt::{Failed, Gone};
    let late = true;
    let cases: [Case; 8] = [
        (3_200, false, &[Gone], &[0], true),
        (3_200, false, &[Failed, Gone], &[0, 100], true),
        (3_200, false, &[Failed; 7], &[0, 100, 300, 700, 1_500, 3_100, 3_200], true),
        (3_200, late, &[Gone; 7], &[0, 100, 300, 700, 1_500, 3_100, 3_200], true),
        (3_200, late, &[Gone; 6], &[0, 100, 300, 700, 1_500, 3_100], false),
        (10, late, &[Gone; 3], &[0, 5, 10], true),
        (3_600_000, false, &[Failed; 4], &[0, 5_000, 10_000, 15_000], false),
        (
            3_600_000,
            late,
            &[Gone, Gone, Gone, Failed, Failed],
            &[0, 5_000, 15_000, 35_000, 40_000],
            false,
        ),
    ];
    for (ttl, calls_outlive_drop, attempts, due, done) in cases {
        let expected = (due.to_vec(), done);
        assert_eq!(schedule(ms(ttl), calls_outlive_drop, attempts), expected, "{ttl} {attempts:?}");
    }
}

#[test]
fn an_attempt_that_is_made_late_is_the_last_after_one_ttl() {
    let mut cleanup = AcquisitionCleanup::new(at(0), ms(1_000), true);
    assert!(!cleanup.attempted(at(999), Attempt::Gone));
    assert_eq!(cleanup.next_attempt(), at(1_000));
    assert!(cleanup.attempted(at(5_000), Attempt::Failed));
}

proptest! {
    #[test]
    fn it_ends_after_one_ttl_with_few_attempts(
        start: u64,
        ttl in prop_oneof![any::<Duration>(), Just(Duration::MAX), Just(Duration::ZERO)],
        calls_outlive_drop: bool,
        gone: bool,
    ) {
        // While attempts fail one is made every few seconds.
        let ttl = if gone { ttl } else { ttl.min(Duration::from_secs(160)) };
        let start = Timestamp::from_nanos(start);
        let attempt = if gone { Attempt::Gone } else { Attempt::Failed };
        let mut cleanup = AcquisitionCleanup::new(start, ttl, calls_outlive_drop);
        let mut attempts = 0;
        loop {
            let now = cleanup.next_attempt();
            prop_assert!(now <= start.saturating_add(ttl));
            attempts += 1;
            prop_assert!(attempts <= 40);
            if cleanup.attempted(now, attempt) {
                break;
            }
            prop_assert!(cleanup.next_attempt() > now);
        }
    }
}
