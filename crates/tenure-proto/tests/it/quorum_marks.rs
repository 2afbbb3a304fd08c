//! Which members may be counted, by their marks.

use std::time::Duration;

use tenure_proto::{
    Incarnation,
    queue::{Contender, Mode, Snapshot},
    quorum::mark::{Charter, LIFE, Standing, identity},
};

use crate::quorum::SECOND;

const CHARTER: Charter = Charter { members: 3, longest: Duration::from_secs(60), durable: false };
const NOW: Option<Incarnation> = Some(Incarnation::from_bytes([1; 16]));
const BEFORE: Option<Incarnation> = Some(Incarnation::from_bytes([2; 16]));

pub(crate) fn marked(label: String, left: Duration) -> Snapshot {
    let mut holder = Contender::new(label, Mode::Exclusive);
    (holder.left, holder.lingering) = (Some(left), true);
    Snapshot::new(vec![holder], Vec::new())
}

#[test]
fn a_member_counts_when_its_memory_is_older_than_the_longest_lease() {
    let label = |restarted| CHARTER.label(9, restarted, NOW);
    let seen = |left| CHARTER.standing(&marked(label(false), left), NOW);
    assert_eq!(CHARTER.standing(&Snapshot::default(), NOW), Standing::Unmarked);
    assert_eq!(
        seen(CHARTER.new_mark()),
        Standing::KeptOut { rest: CHARTER.keep_out(), restarted: false }
    );
    assert!(CHARTER.keep_out() > CHARTER.longest);
    assert_eq!(seen(LIFE + SECOND), Standing::KeptOut { rest: SECOND, restarted: false });
    assert_eq!(seen(LIFE), Standing::Counted);
    assert_eq!(seen(SECOND), Standing::Counted);
    let again = CHARTER.standing(&marked(label(true), LIFE + SECOND), NOW);
    assert_eq!(again, Standing::KeptOut { rest: SECOND, restarted: true });
    let mut ageless = marked(label(false), LIFE);
    ageless.holders[0].left = None;
    assert!(matches!(CHARTER.standing(&ageless, NOW), Standing::KeptOut { .. }));
    let mut claim = marked(label(false), SECOND);
    claim.holders[0].lingering = false;
    assert_eq!(CHARTER.standing(&claim, NOW), Standing::Claimed);
}

#[test]
fn a_member_that_restarted_does_not_count_whatever_it_remembers() {
    for left in [SECOND, LIFE, CHARTER.new_mark()] {
        let old = marked(CHARTER.label(9, false, BEFORE), left);
        assert_eq!(CHARTER.standing(&old, NOW), Standing::Restarted);
        assert!(CHARTER.standing(&old, NOW).needs_mark());
    }
    // Made by a client that knew nothing of incarnations, or looked at by nobody who can tell.
    let unknown = marked(CHARTER.label(9, false, None), LIFE);
    assert_eq!(CHARTER.standing(&unknown, NOW), Standing::Restarted);
    assert_eq!(
        CHARTER.standing(&marked(CHARTER.label(9, false, NOW), LIFE), None),
        Standing::Restarted
    );
}

#[test]
fn only_a_member_without_a_mark_of_this_run_is_given_one() {
    let without = [Standing::Unmarked, Standing::Restarted];
    let kept_out = Standing::KeptOut { rest: SECOND, restarted: true };
    let with = [Standing::Counted, kept_out, Standing::Claimed, Standing::Foreign(String::new())];
    assert!(without.iter().all(Standing::needs_mark));
    assert!(!with.iter().any(Standing::needs_mark));
}

/// Clients of different versions read the marks of one member, so these must never change.
#[test]
fn how_long_marks_last_and_what_they_say_is_written_in_stone() {
    assert_eq!(LIFE, Duration::from_secs(3_153_600_000));
    assert_eq!(
        CHARTER.label(9, true, NOW),
        "quorum of 2 in 3, leases up to 60000 ms, mark 1.0000000000000009, after a restart, \
         run 01010101010101010101010101010101"
    );
    let durable = Charter { durable: true, ..CHARTER };
    assert_eq!(
        durable.label(0x2a, false, None),
        "quorum of 2 in 3, leases up to 60000 ms, durable members, mark 1.000000000000002a"
    );
}

#[test]
fn a_restart_of_members_that_lose_nothing_changes_nothing() {
    let durable = Charter { durable: true, ..CHARTER };
    let seen = marked(durable.label(9, false, None), LIFE);
    assert_eq!(durable.standing(&seen, None), Standing::Counted);
    let lost = durable.standing(&Snapshot::default(), None);
    assert_eq!(lost, Standing::Unmarked);
}

#[test]
fn marks_are_told_apart_by_their_serials_alone() {
    let one =
        |serial, restarted, now| identity(&marked(CHARTER.label(serial, restarted, now), LIFE));
    assert_eq!(one(9, false, NOW), one(9, true, BEFORE));
    assert_ne!(one(9, false, NOW), one(8, false, NOW));
    assert_eq!(identity(&marked("a lock".to_owned(), LIFE)), None);
}

#[test]
fn a_mark_of_another_quorum_is_told() {
    for other in [
        Charter { members: 5, ..CHARTER },
        Charter { longest: CHARTER.longest * 2, ..CHARTER },
        Charter { durable: true, ..CHARTER },
    ] {
        let seen = CHARTER.standing(&marked(other.label(1, false, NOW), LIFE), NOW);
        assert!(matches!(seen, Standing::Foreign(_)), "{seen:?}");
    }
    let lock = CHARTER.standing(&marked("somebody's lock".to_owned(), LIFE), NOW);
    assert!(matches!(lock, Standing::NoMark(_)));
}

#[test]
fn the_number_of_a_mark_is_read_before_anything_else() {
    for words in [CHARTER.words(), "as another version has it".to_owned()] {
        for number in ["2", "0", "12", "", "next"] {
            let label = format!("{words}, mark {number}.0000000000000009");
            for lingering in [true, false] {
                let mut seen = marked(label.clone(), LIFE);
                seen.holders[0].lingering = lingering;
                let standing = CHARTER.standing(&seen, NOW);
                assert_eq!(standing, Standing::OtherFormat(number.to_owned()), "{label}");
                assert!(!standing.needs_mark());
            }
        }
    }
}

#[test]
fn a_mark_of_before_there_was_a_number_counts() {
    let label = format!("{}, mark 0000000000000009, run {}", CHARTER.words(), NOW.unwrap());
    assert_eq!(CHARTER.standing(&marked(label.clone(), LIFE), NOW), Standing::Counted);
    assert_eq!(CHARTER.standing(&marked(label, LIFE), BEFORE), Standing::Restarted);
}
