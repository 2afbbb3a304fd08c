//! How often a name is looked at.

use std::time::Duration;

use tenure_proto::{
    Look,
    look::{LONGEST, SHORTEST},
};

#[test]
fn pauses_grow_while_nothing_changes_and_are_bounded() {
    let mut look = Look::new();
    let mut last = Duration::ZERO;
    for _ in 0..20 {
        let pause = look.next(false, u64::MAX);
        assert!(pause >= last && pause <= LONGEST);
        last = pause;
    }
    assert_eq!(last, LONGEST);
}

#[test]
fn a_change_makes_them_short_again() {
    let mut look = Look::new();
    for _ in 0..20 {
        let _ = look.next(false, u64::MAX);
    }
    let pause = look.next(true, u64::MAX);
    assert!(pause >= SHORTEST && pause <= SHORTEST * 3, "{pause:?}");
}

#[test]
fn watchers_that_began_together_drift_apart() {
    let (mut one, mut other) = (Look::new(), Look::new());
    assert_ne!(one.next(false, u64::MAX / 7), other.next(false, u64::MAX / 2));
}
