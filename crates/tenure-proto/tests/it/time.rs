//! Lengths of time and how they are rounded.

use std::time::Duration;

use tenure_proto::{Grace, Timestamp, Ttl};

#[test]
fn a_ttl_is_ten_milliseconds_to_a_day() {
    let cases = [
        (Duration::ZERO, false),
        (Duration::from_nanos(9_999_999), false),
        (Duration::from_millis(10), true),
        (Duration::from_secs(86_400), true),
        (Duration::from_nanos(86_400_000_000_001), false),
        (Duration::MAX, false),
    ];
    for (length, allowed) in cases {
        assert_eq!(Ttl::new(length).is_ok(), allowed, "{length:?}");
    }
}

#[test]
fn a_refused_length_names_the_setting_and_the_range() {
    let text = Ttl::new(Duration::from_millis(3)).unwrap_err().to_string();
    assert_eq!(text, "ttl of 3ms is out of range; choose from 10ms to 24h");
    assert!(Grace::new(Duration::from_secs(61)).unwrap_err().to_string().contains("grace"));
}

#[test]
fn the_store_counts_up_and_the_holder_down() {
    let cases =
        [(10_000_000, 10, 10), (10_000_001, 11, 10), (10_999_999, 11, 10), (11_000_000, 11, 11)];
    for (nanos, store, holder) in cases {
        let ttl = Ttl::new(Duration::from_nanos(nanos)).unwrap();
        assert_eq!(ttl.for_store(), Duration::from_millis(store), "{nanos} ns");
        assert_eq!(ttl.for_holder(), Duration::from_millis(holder), "{nanos} ns");
    }
}

#[test]
fn a_grace_is_up_to_a_minute_and_is_given_in_whole_milliseconds() {
    for (nanos, rounded) in [(0, 0), (1, 1), (999_999, 1), (1_000_000, 1), (60_000_000_000, 60_000)]
    {
        let length = Duration::from_nanos(nanos);
        let grace = Grace::new(length).unwrap();
        assert_eq!((grace.get(), grace.rounded()), (length, Duration::from_millis(rounded)));
    }
}

#[test]
fn points_in_time_stop_at_both_ends() {
    let early = Timestamp::from_nanos(5);
    assert_eq!(early.saturating_sub(Duration::MAX), Timestamp::ZERO);
    assert_eq!(early.saturating_add(Duration::MAX), Timestamp::NEVER);
    assert_eq!(early.since(Timestamp::NEVER), Duration::ZERO);
}
