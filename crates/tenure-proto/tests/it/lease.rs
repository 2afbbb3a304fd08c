//! How long a holder may count on a lease.

use std::time::Duration;

use tenure_proto::{
    Grace,
    lease::{covering, deadline, drift},
};

use crate::world::{at, ms};

#[test]
fn a_deadline_counts_from_sending_and_leaves_room() {
    // Sent, received, left, grace in milliseconds; then the deadline.
    let cases = [
        (100, 101, 10_000, 0, Some(100 + 10_000 - 102)),
        (100, 9_000, 10_000, 0, Some(100 + 10_000 - 102)),
        (100, 9_997, 10_000, 0, Some(9_998)),
        (100, 9_998, 10_000, 0, None),
        (100, 20_000, 10_000, 0, None),
        (0, 1, 100, 0, Some(97)),
        (0, 1, 5, 0, Some(2)),
        (0, 1, 3, 0, None),
        (0, 0, 0, 0, None),
        (0, 1, 11_000, 1_000, Some(10_000 - 102)),
        (0, 1, 60_500, 60_000, Some(500 - 7)),
        (0, 1, 60_000, 60_000, None),
    ];
    for (sent, received, left, grace, expected) in cases {
        let grace = Grace::new(ms(grace)).unwrap();
        let found = deadline(at(sent), at(received), ms(left), grace);
        assert_eq!(found, expected.map(at), "sent {sent}, received {received}, left {left}");
    }
}

#[test]
fn a_part_of_a_millisecond_is_not_counted_on() {
    let left = Duration::from_micros(100_999);
    assert_eq!(deadline(at(0), at(1), left, Grace::NONE), Some(at(97)));
}

#[test]
fn drift_is_one_percent_and_three_milliseconds_at_least() {
    let cases = [(0, 3_000), (100, 3_000), (1_000, 12_000), (30_000, 302_000)];
    for (left, expected) in cases {
        assert_eq!(drift(ms(left)), Duration::from_micros(expected), "{left} ms");
    }
}

#[test]
fn a_covering_lease_is_whole_milliseconds_and_hardly_longer_than_needed() {
    for micros in [10_000, 10_001, 999_999, 30_000_000, 86_400_000_000] {
        let validity = Duration::from_micros(micros);
        let lease = covering(validity, Grace::NONE);
        assert!(lease.subsec_nanos().is_multiple_of(1_000_000));
        let counted_on = deadline(at(0), at(0), lease, Grace::NONE).unwrap();
        assert!(counted_on.since(at(0)) >= validity, "{micros} µs");
        assert!(lease < validity + drift(validity) * 2, "{micros} µs");
    }
}
