//! Who waits for whom at the gate of a quorum.

use tenure_proto::{
    Token,
    queue::{Contender, Mode, Snapshot},
    quorum::{
        Ballot, Step, Vote,
        gate::{Line, PREFIX, name_of},
    },
};

/// A gate that writers signed at these times.
fn signed(times: &[u64]) -> Snapshot {
    let writer = |time: &u64| {
        let mut writer = Contender::new("", Mode::Shared);
        writer.token = Token::from_time(*time);
        writer
    };
    Snapshot::new(times.iter().map(writer).collect(), Vec::new())
}

#[test]
fn a_reader_waits_for_those_who_had_signed_when_it_came_and_for_nobody_else() {
    let mut line = Line::new(3);
    assert!(line.is_closed(0, &signed(&[5, 7])));
    assert!(line.waits());
    assert!(line.is_closed(0, &signed(&[7, 9])), "one of them is still there");
    assert!(!line.is_closed(0, &signed(&[9, 11])), "both came later");
    assert!(!line.is_closed(0, &signed(&[])));
}

#[test]
fn a_reader_that_was_there_first_waits_for_no_writer() {
    let mut line = Line::new(3);
    assert!(!line.is_closed(1, &signed(&[])));
    assert!(!line.is_closed(1, &signed(&[5])));
    assert!(!line.waits());
    // It has not looked there before.
    assert!(line.is_closed(2, &signed(&[5])));
}

#[test]
fn each_lock_has_a_gate_of_its_own_however_long_its_name() {
    let (one, other) = ("a".repeat(512), "a".repeat(511) + "b");
    let gates = [name_of(&one, 512), name_of(&other, 512), name_of("a", 512)];
    for gate in &gates {
        assert!(gate.starts_with(PREFIX) && gate.len() <= 512, "{gate}");
    }
    assert_ne!(gates[0], gates[1]);
    assert_eq!(gates[2], format!("{PREFIX}a"));
}

#[test]
fn a_gate_is_called_by_the_name_of_its_lock_wherever_that_fits() {
    let longest = "a".repeat(512 - PREFIX.len());
    assert_eq!(name_of(&longest, 512), format!("{PREFIX}{longest}"));
    let longer = format!("{longest}a");
    assert!(!name_of(&longer, 512).contains(&longest));
}

#[test]
fn a_closed_gate_is_an_answer_and_its_member_may_hold_the_name() {
    let mut ballot = Ballot::new(3, None);
    ballot.voted(0, Vote::Closed);
    ballot.voted(1, Vote::Closed);
    assert_eq!(ballot.step(), Step::Outvoted);
    assert!(ballot.may_hold(0) && ballot.granted() == 2);
}
