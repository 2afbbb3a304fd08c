//! The count-down latch: its owners, and what counts as an arrival.

use proptest::prelude::*;
use tenure_proto::{
    latch::{arrived, check_arrival, owner_of, remaining},
    queue::{Contender, Label, Mode, Snapshot},
};

fn contender(label: &str, mode: Mode, lingering: bool) -> Contender {
    let mut contender = Contender::new(label, mode);
    contender.lingering = lingering;
    contender
}

fn seen(holders: impl IntoIterator<Item = Contender>) -> Snapshot {
    Snapshot::new(holders.into_iter().collect(), Vec::new())
}

/// Programs of different versions meet at one latch, so this must never change.
#[test]
fn the_owner_of_an_arrival_is_written_in_stone() {
    let hex = owner_of("start", "worker-1").to_hex();
    assert_eq!(hex, "184c30d23acd98ee163d3e6a1c869344");
}

#[test]
fn only_what_was_let_go_and_stays_has_arrived() {
    let seen = seen([
        contender("b", Mode::Shared, true),
        contender("a", Mode::Shared, true),
        contender("on its way", Mode::Shared, false),
        contender("another kind of lock", Mode::Exclusive, true),
        contender("a", Mode::Shared, true),
    ]);
    assert_eq!(arrived(&seen), ["a", "b"]);
    assert_eq!(remaining(3, &seen), 1);
    assert_eq!(remaining(2, &seen), 0);
}

#[test]
fn more_arrivals_than_asked_for_leave_nothing_to_come() {
    let seen = seen(["a", "b", "c"].map(|name| contender(name, Mode::Shared, true)));
    assert_eq!(remaining(2, &seen), 0);
    assert_eq!(remaining(0, &Snapshot::default()), 0);
}

#[test]
fn an_arrival_that_a_label_cannot_tell_apart_is_refused() {
    let longest = "x".repeat(Label::MAX);
    for good in ["a", "grüße", longest.as_str()] {
        check_arrival(good).expect("a good name");
    }
    let longer = "x".repeat(Label::MAX + 1);
    for bad in ["", "a\nb", longer.as_str()] {
        assert!(check_arrival(bad).is_err(), "{bad:?}");
    }
}

proptest! {
    #[test]
    fn different_names_have_different_owners(
        one in "[ab:]{1,6}", other in "[ab:]{1,6}", third in "[ab:]{1,6}",
    ) {
        prop_assert_eq!(one == other, owner_of(&third, &one) == owner_of(&third, &other));
        prop_assert_eq!(one == other, owner_of(&one, &third) == owner_of(&other, &third));
        let swapped = owner_of(&other, &one);
        prop_assert_eq!(one == other, owner_of(&one, &other) == swapped);
    }
}

/// An arrival may be called by anything, also by what looks like the fields of a holder.
#[test]
fn arrivals_that_look_like_fields_stay_apart() {
    let names = ["shard {id=3}", "shard {id=4}", "a {}", "a"];
    let seen = seen(names.map(|name| contender(name, Mode::Shared, true)));
    assert_eq!(arrived(&seen), ["a", "a {}", "shard {id=3}", "shard {id=4}"]);
    assert_eq!(remaining(5, &seen), 1);
}
