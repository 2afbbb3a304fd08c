//! What judges a drill sees what it has to see.

use super::{
    events::Leases,
    resource::{Judgement, Side},
};

const ONE: u32 = 1;
const OTHER: u32 = 2;

fn judgement() -> Judgement {
    let mut judgement = Judgement::default();
    judgement.expect(ONE, Side::Ours);
    judgement.expect(OTHER, Side::Theirs);
    judgement
}

#[test]
fn two_at_once_are_seen() {
    let mut judgement = judgement();
    assert_eq!(judgement.open(ONE, Some(5)), Some(0));
    assert_eq!(judgement.open(OTHER, None), Some(0));
    assert_eq!(judgement.violations.len(), 1);
}

#[test]
fn one_after_the_other_is_as_it_should_be() {
    let mut judgement = judgement();
    for (token, number) in [(5, 0), (6, 2)] {
        assert_eq!(judgement.open(ONE, Some(token)), Some(number));
        assert_eq!(judgement.write(ONE, Some(token), number + 1, false), Some(number + 1));
        assert_eq!(judgement.open(OTHER, None), Some(number + 1));
        assert_eq!(judgement.write(OTHER, None, number + 2, false), Some(number + 2));
    }
    assert_eq!((judgement.number, judgement.violations.len()), (4, 0));
    assert_eq!(judgement.figures.map(|figures| figures.written), [2, 2]);
}

#[test]
fn tokens_that_fall_are_seen() {
    let mut judgement = judgement();
    judgement.open(ONE, Some(5));
    judgement.write(ONE, Some(5), 1, false);
    assert_eq!(judgement.open(OTHER, Some(5)), None);
    assert_eq!(judgement.violations.len(), 1);
}

#[test]
fn who_was_stopped_is_late_and_its_token_refused() {
    let mut judgement = judgement();
    judgement.open(ONE, Some(5));
    judgement.stop(ONE);
    assert_eq!(judgement.open(OTHER, Some(6)), Some(0));
    judgement.go_on(ONE);
    assert_eq!(judgement.write(ONE, Some(5), 1, false), None);
    assert_eq!(judgement.write(OTHER, Some(6), 1, false), Some(1));
    assert_eq!((judgement.figures[1].refused, judgement.violations.len()), (1, 0));
}

#[test]
fn who_was_stopped_without_a_token_writes_late() {
    let mut judgement = judgement();
    judgement.open(OTHER, None);
    judgement.stop(OTHER);
    judgement.open(ONE, Some(5));
    judgement.go_on(OTHER);
    assert_eq!(judgement.write(OTHER, None, 1, false), Some(1));
    assert_eq!((judgement.figures[0].let_through, judgement.violations.len()), (1, 0));
    // Its next turn is as good as any.
    judgement.write(ONE, Some(5), 1, false);
    judgement.open(OTHER, None);
    judgement.open(ONE, Some(6));
    assert_eq!(judgement.violations.len(), 1);
}

#[test]
fn what_its_process_knows_is_not_written() {
    let mut judgement = judgement();
    judgement.open(ONE, Some(5));
    judgement.stop(ONE);
    judgement.go_on(ONE);
    assert_eq!(judgement.write(ONE, Some(5), 1, true), None);
    assert_eq!((judgement.figures[1].noticed, judgement.number), (1, 0));
}

fn leases(events: &str) -> (u64, u64, u64) {
    let mut leases = Leases::default();
    events.split(' ').for_each(|event| leases.follow(event));
    (leases.begun, leases.expired, leases.overlapping)
}

#[test]
fn leases_are_told_apart() {
    assert_eq!(leases("new set expire expire del new set expire expired"), (2, 1, 0));
    assert_eq!(leases("new set expire set expire del"), (1, 0, 1));
    // Redisson's, and its lock for readers and writers.
    assert_eq!(
        leases("new hincrby expire expire hincrby del new hincrby expire expired"),
        (2, 1, 0)
    );
    assert_eq!(leases("new hset hset expire hincrby hdel del"), (1, 0, 0));
    // Taken twice by one or by two, and by one of tenure over one of theirs.
    assert_eq!(leases("new hincrby expire hincrby expire"), (1, 0, 1));
    assert_eq!(leases("new hincrby expire hset expire"), (1, 0, 1));
}
