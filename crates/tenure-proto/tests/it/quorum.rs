//! What members' answers come to.

use std::time::Duration;

use tenure_proto::{
    HoldId, Owner, Renewed, Token,
    queue::{Mode, Snapshot},
    quorum::{
        Ballot, Confirmation, Decision, RenewalTally, Step, Vote, Yesses, agreed, attempt,
        majority, witnesses,
    },
};

use crate::quorum_marks::marked;

pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn token(micros: u64) -> Token {
    Token::from_time(micros).expect("a small number")
}

pub(crate) fn granted(micros: u64, left: u32) -> Vote {
    Vote::Granted { token: token(micros), left: SECOND * left }
}

/// A ballot in which these members granted these times, with the second round sent.
pub(crate) fn sent(members: usize, votes: &[(usize, u64)]) -> (Ballot, Token) {
    let mut ballot = Ballot::new(members, None);
    for (member, micros) in votes {
        ballot.voted(*member, granted(*micros, 30));
    }
    match ballot.step() {
        Step::Confirm { token, .. } => (ballot, token),
        other => panic!("{other:?}"),
    }
}

#[test]
fn any_two_majorities_have_a_member_in_common() {
    for members in 1..20 {
        assert!(majority(members) * 2 > members);
        assert!((majority(members) - 1) * 2 <= members);
    }
}

#[test]
fn nothing_is_won_before_a_majority_keeps_the_greatest_token() {
    let (mut ballot, greatest) = sent(3, &[(0, 5), (2, 9)]);
    assert_eq!(greatest, token(9));
    assert_eq!(ballot.step(), Step::Wait);
    ballot.confirmed(2, greatest, Confirmation::Confirmed);
    assert_eq!(ballot.step(), Step::Wait);
    ballot.confirmed(0, greatest, Confirmation::Confirmed);
    assert_eq!(ballot.step(), Step::Won { token: greatest, left: SECOND * 30 });
}

#[test]
fn a_member_that_is_kept_out_makes_no_majority() {
    let (mut ballot, greatest) = sent(3, &[(0, 5), (2, 9)]);
    ballot.confirmed(0, greatest, Confirmation::Confirmed);
    ballot.confirmed(2, greatest, Confirmation::KeptOut);
    assert_eq!(ballot.step(), Step::Wait);
    ballot.voted(1, Vote::Doubt);
    assert_eq!(ballot.step(), Step::Failed);
    assert!(ballot.may_hold(1) && ballot.may_hold(2));
}

#[test]
fn a_late_member_takes_the_place_of_one_that_is_kept_out() {
    let (mut ballot, first) = sent(3, &[(0, 5), (2, 9)]);
    ballot.confirmed(0, first, Confirmation::Confirmed);
    ballot.confirmed(2, first, Confirmation::KeptOut);
    // Its token is greater, so the others are told of it too.
    ballot.voted(1, granted(11, 30));
    let Step::Confirm { token: second, mut members } = ballot.step() else { panic!() };
    members.sort_unstable();
    assert_eq!((second, members), (token(11), vec![0, 1]));
    ballot.confirmed(0, second, Confirmation::Confirmed);
    ballot.confirmed(1, second, Confirmation::Confirmed);
    assert!(matches!(ballot.step(), Step::Won { token, .. } if token == second));
}

#[test]
fn what_is_certain_is_the_least_lease_of_the_majority_that_has_the_most() {
    let mut ballot = Ballot::new(5, None);
    for (member, left) in [(0, 9), (1, 3), (2, 7), (3, 8)] {
        ballot.voted(member, granted(1, left));
    }
    let Step::Confirm { token, members } = ballot.step() else { panic!() };
    for member in members {
        ballot.confirmed(member, token, Confirmation::Confirmed);
    }
    assert_eq!(ballot.step(), Step::Won { token, left: SECOND * 7 });
}

#[test]
fn a_repeat_answers_the_same_token_although_a_late_member_has_a_greater_one() {
    let known = token(5);
    let mut ballot = Ballot::new(3, Some(known));
    ballot.voted(2, granted(9, 30));
    ballot.voted(0, granted(5, 30));
    assert_eq!(ballot.step(), Step::Wait);
    ballot.voted(1, granted(5, 30));
    assert_eq!(ballot.step(), Step::Confirm { token: known, members: vec![0, 1] });
}

#[test]
fn a_repeat_whose_hold_ended_gets_a_greater_token() {
    let mut ballot = Ballot::new(3, Some(token(5)));
    for (member, micros) in [(0, 7), (1, 8), (2, 9)] {
        ballot.voted(member, granted(micros, 30));
    }
    assert!(matches!(ballot.step(), Step::Confirm { token: chosen, .. } if chosen == token(9)));
}

#[test]
fn busy_failed_and_in_doubt_are_different_ends() {
    let end = |votes: &[Vote]| {
        let mut ballot = Ballot::new(votes.len(), None);
        for (member, vote) in votes.iter().enumerate() {
            ballot.voted(member, *vote);
        }
        ballot.step()
    };
    assert_eq!(end(&[granted(1, 30), Vote::Busy, Vote::Busy]), Step::Outvoted);
    assert_eq!(end(&[granted(1, 30), Vote::Busy, Vote::Doubt]), Step::Outvoted);
    assert_eq!(end(&[Vote::Busy, Vote::Failed, Vote::Doubt]), Step::Failed);
    assert_eq!(end(&[granted(1, 30), Vote::Failed, Vote::Failed]), Step::Failed);
}

#[test]
fn a_renewal_needs_a_majority_and_a_loss_needs_one_too() {
    let renewed = |left| Renewed::Renewed { left: SECOND * left, others_waiting: false };
    let result = |answers: &[(Renewed, bool)]| {
        let mut tally = RenewalTally::new(answers.len());
        for (answer, counted) in answers {
            tally.answered(*answer, *counted);
        }
        tally.result()
    };
    let (lost, unknown) = ((Renewed::Lost, true), (Renewed::Unknown, true));
    assert_eq!(result(&[(renewed(9), true), (renewed(5), true), lost]), renewed(5));
    assert_eq!(result(&[(renewed(9), true), lost, unknown]), Renewed::Unknown);
    assert_eq!(result(&[(renewed(9), true), lost, lost]), Renewed::Lost);
    // A memory that is new is no witness for a hold, and one against it.
    assert_eq!(result(&[(renewed(9), true), (renewed(9), false), unknown]), Renewed::Unknown);
    assert_eq!(result(&[(renewed(9), true), (Renewed::Lost, false), lost]), Renewed::Lost);
    // Of four, three are needed.
    assert_eq!(result(&[(renewed(9), true), (renewed(9), true), lost, lost]), Renewed::Lost);
}

#[test]
fn a_release_is_decided_as_soon_as_a_majority_agrees() {
    let mut count = Yesses::new(3);
    count.said(true);
    assert_eq!(count.decision(), Decision::Open);
    count.said(false);
    assert_eq!(count.decision(), Decision::Open);
    count.said(true);
    assert_eq!(count.decision(), Decision::Yes);
}

#[test]
fn a_release_is_refused_as_soon_as_the_others_are_no_majority() {
    for (members, enough) in [(3, 2), (4, 2), (5, 3), (6, 3), (7, 4)] {
        let mut count = Yesses::new(members);
        for _ in 1..enough {
            count.said(false);
            assert_eq!(count.decision(), Decision::Open, "of {members}");
        }
        count.said(false);
        assert_eq!(count.decision(), Decision::No, "of {members}");
    }
}

#[test]
fn a_hold_is_lost_as_soon_as_the_others_are_no_majority() {
    for (members, enough) in [(3, 2), (4, 2), (5, 3), (6, 3), (7, 4)] {
        let mut tally = RenewalTally::new(members);
        for _ in 1..enough {
            tally.answered(Renewed::Lost, true);
            assert_eq!(tally.result(), Renewed::Unknown, "of {members}");
        }
        tally.answered(Renewed::Lost, true);
        assert_eq!(tally.result(), Renewed::Lost, "of {members}");
    }
}

#[test]
fn whoever_waits_at_one_member_waits_for_the_quorum() {
    let told = |waiting: [bool; 3]| {
        let mut tally = RenewalTally::new(3);
        for others_waiting in waiting {
            tally.answered(Renewed::Renewed { left: SECOND, others_waiting }, true);
        }
        tally.result()
    };
    let renewed = |others_waiting| Renewed::Renewed { left: SECOND, others_waiting };
    assert_eq!(told([false, false, false]), renewed(false));
    assert_eq!(told([false, true, false]), renewed(true));
    assert_eq!(told([true, true, false]), renewed(true));
}

#[test]
fn each_attempt_has_an_owner_of_its_own() {
    let owner = Owner::from_bytes([7; 16]);
    assert_eq!(attempt(&owner, 0), owner);
    let others: Vec<_> = (1..100).map(|number| attempt(&owner, number)).collect();
    for (index, one) in others.iter().enumerate() {
        assert!(*one != owner && !others[..index].contains(one));
    }
}

fn held(label: &str, micros: u64, left: u32) -> Snapshot {
    let mut seen = marked(label.to_owned(), SECOND * left);
    seen.holders[0].token = Some(token(micros));
    seen
}

/// A member has not let go yet of the hold before, which the same process had.
#[test]
fn the_hold_that_is_shown_is_that_of_the_majority() {
    let hold = |owner, micros| {
        let mut seen = held("me", micros, 30);
        seen.holders[0].id = Some(HoldId::of_owner(&Owner::from_bytes([owner; 16])));
        seen
    };
    let (before, now) = (hold(1, 5), hold(2, 9));
    for seen in [
        [before.clone(), now.clone(), now.clone()].as_slice(),
        &[now.clone(), before.clone(), now.clone()],
        &[before.clone(), now.clone()],
    ] {
        assert_eq!(agreed(seen, 3).holders[0].id, now.holders[0].id);
    }
}

#[test]
fn a_name_is_held_when_a_majority_says_so_or_may() {
    let free = Snapshot::default();
    let one = held("me", 5, 30);
    assert_eq!(agreed(&[one.clone(), free.clone(), free.clone()], 3), free);
    // The late member has a token of its own, and is not who is asked about.
    let seen = agreed(&[held("me", 9, 20), one.clone(), one.clone()], 3);
    assert_eq!(seen, one);
    // One did not answer, and may hold it too.
    assert_eq!(agreed(&[one.clone(), free], 3), one);
}

#[test]
fn readers_are_told_apart() {
    let reader = |label: &str, micros| {
        let mut seen = held(label, micros, 30);
        seen.holders[0].mode = Mode::Shared;
        seen.holders[0].lingering = false;
        seen.holders.remove(0)
    };
    let both = |first: u64, second: u64| {
        Snapshot::new(vec![reader("host/1", first), reader("host/1", second)], Vec::new())
    };
    assert_eq!(agreed(&[both(5, 6), both(5, 6), Snapshot::default()], 3), both(5, 6));
}

#[test]
fn one_arrival_is_one_whatever_tokens_members_gave_it() {
    let arrival = |micros| {
        let mut seen = held("shard-1", micros, 30);
        seen.holders[0].mode = Mode::Shared;
        seen
    };
    let seen = agreed(&[arrival(5), arrival(9), Snapshot::default()], 3);
    assert_eq!(seen.holders.len(), 1);
}

#[test]
fn an_exclusive_hold_is_one_whatever_each_member_says_of_it() {
    let hold = |micros, since, lingering| {
        let mut seen = held("me", micros, 30);
        (seen.holders[0].since, seen.holders[0].lingering) = (Some(since), lingering);
        seen
    };
    let seen = [hold(9, 8, true), hold(5, 7, false), Snapshot::default()];
    // It holds the name as long as one of them was not told that it let go.
    assert_eq!(agreed(&seen, 3), hold(5, 7, false));
}

#[test]
fn two_holds_are_not_one_because_they_have_something_in_common() {
    let one = held("host/1", 5, 30);
    let (mut reads, mut arrived) = (held("host/1", 9, 30), held("host/1", 7, 30));
    (reads.holders[0].mode, reads.holders[0].lingering) = (Mode::Shared, false);
    arrived.holders[0].mode = Mode::Shared;
    for other in [held("host/2", 5, 30), reads.clone(), arrived.clone()] {
        let seen = agreed(&[one.clone(), other.clone(), Snapshot::default()], 3);
        assert_eq!(seen, Snapshot::default(), "{other:?}");
    }
    let seen = agreed(&[reads, arrived, Snapshot::default()], 3);
    assert_eq!(seen, Snapshot::default(), "who let go is not who holds");
}

#[test]
fn a_repeat_keeps_its_token_by_members_that_joined_with_a_greater_one() {
    let known = token(5);
    let ask = |joined: u64, silent: Vote| {
        let mut ballot = Ballot::new(3, Some(known));
        ballot.note_joined(2, token(joined));
        ballot.voted(0, Vote::Granted { token: known, left: SECOND });
        ballot.voted(1, silent);
        ballot.voted(2, granted(9, 1));
        ballot.step()
    };
    assert_eq!(ask(9, Vote::Doubt), Step::Confirm { token: known, members: vec![0, 2] });
    // Its hold is a newer one than that which joined: others may have come in between.
    assert_eq!(ask(8, Vote::Doubt), Step::Failed);
    assert_eq!(ask(8, Vote::Busy), Step::Confirm { token: token(9), members: vec![0, 2] });
}

#[test]
fn members_that_forgot_are_heard_only_where_no_majority_remembers() {
    let answers =
        |counted: [bool; 3]| vec![('a', counted[0]), ('b', counted[1]), ('c', counted[2])];
    assert_eq!(witnesses(answers([true, false, true]), 3), ['a', 'c']);
    assert_eq!(witnesses(answers([true, false, false]), 3), ['a', 'b', 'c']);
}
