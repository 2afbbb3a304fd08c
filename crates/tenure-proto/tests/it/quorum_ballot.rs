//! Votes that come late, double or from others, and what is asked of a ballot when it is over.

use tenure_proto::quorum::{Ballot, Confirmation, Step, Vote};

use crate::quorum::{SECOND, granted, sent, token};

#[test]
fn a_greater_token_that_comes_late_is_no_reason_to_begin_again() {
    for confirmed_before in [None, Some(0), Some(2)] {
        let (mut ballot, first) = sent(3, &[(0, 5), (2, 9)]);
        if let Some(member) = confirmed_before {
            ballot.confirmed(member, first, Confirmation::Confirmed);
        }
        ballot.voted(1, granted(11, 30));
        assert_eq!(ballot.step(), Step::Wait, "{confirmed_before:?}");
        for member in [0, 2] {
            ballot.confirmed(member, first, Confirmation::Confirmed);
        }
        assert_eq!(ballot.step(), Step::Won { token: first, left: SECOND * 30 });
    }
}

#[test]
fn a_yes_to_the_smaller_token_is_none_to_the_greater_one() {
    let (mut ballot, first) = sent(3, &[(0, 5), (2, 9)]);
    ballot.confirmed(2, first, Confirmation::KeptOut);
    ballot.voted(1, granted(11, 30));
    let second = token(11);
    assert_eq!(ballot.step(), Step::Confirm { token: second, members: vec![0, 1] });
    ballot.confirmed(1, second, Confirmation::Confirmed);
    ballot.confirmed(0, first, Confirmation::Confirmed);
    assert_eq!(ballot.step(), Step::Confirm { token: second, members: vec![0] });
    ballot.confirmed(0, second, Confirmation::Confirmed);
    assert_eq!(ballot.step(), Step::Won { token: second, left: SECOND * 30 });
}

#[test]
fn who_holds_it_with_a_token_greater_than_the_one_that_won_has_joined() {
    let mut ballot = Ballot::new(5, Some(token(5)));
    for (member, micros) in [(0, 5), (1, 5), (2, 5), (3, 3), (4, 9)] {
        ballot.voted(member, granted(micros, 30));
    }
    let Step::Confirm { token: known, .. } = ballot.step() else { panic!() };
    let joined = |ballot: &Ballot| ballot.joined().collect::<Vec<_>>();
    assert_eq!(joined(&ballot), [(4, token(9))], "before the others have confirmed");
    for member in 0..3 {
        ballot.confirmed(member, known, Confirmation::Confirmed);
    }
    assert!(matches!(ballot.step(), Step::Won { .. }));
    assert_eq!(joined(&ballot), [(4, token(9))]);
}

#[test]
fn others_have_won_when_the_failed_ones_alone_would_not_have_prevented_a_majority() {
    let end = |votes: [Vote; 5]| {
        let mut ballot = Ballot::new(5, None);
        for (member, vote) in votes.into_iter().enumerate() {
            ballot.voted(member, vote);
        }
        ballot.step()
    };
    let yes = granted(1, 30);
    assert_eq!(end([yes, yes, Vote::Busy, Vote::Failed, Vote::Doubt]), Step::Outvoted);
    assert_eq!(end([yes, Vote::Busy, Vote::Failed, Vote::Failed, Vote::Doubt]), Step::Failed);
}

#[test]
fn an_acquire_is_denied_when_a_majority_says_that_others_have_the_name() {
    let denied = |votes: &[Vote]| {
        let mut ballot = Ballot::new(3, None);
        for (member, vote) in votes.iter().enumerate() {
            ballot.voted(member, *vote);
        }
        ballot.is_denied()
    };
    assert!(denied(&[Vote::Busy, Vote::Busy]));
    assert!(denied(&[Vote::Busy, Vote::Busy, Vote::Busy]));
    assert!(!denied(&[]));
    assert!(!denied(&[Vote::Busy, granted(1, 30), granted(1, 30)]));
    assert!(!denied(&[Vote::Busy, Vote::Doubt, Vote::Failed]));
    assert!(!denied(&[Vote::Closed, Vote::Closed, Vote::Closed]), "a gate says nothing of it");
}

#[test]
fn what_changes_hands_is_lost_when_those_that_did_not_say_no_are_no_majority() {
    let end = |votes: &[Vote]| {
        let mut ballot = Ballot::of_take_over(votes.len(), None);
        for (member, vote) in votes.iter().enumerate() {
            ballot.voted(member, *vote);
        }
        (ballot.is_lost(), ballot.step())
    };
    let (yes, no) = (granted(1, 30), Vote::Busy);
    assert_eq!(end(&[yes, no, no]), (true, Step::Outvoted));
    assert_eq!(end(&[yes, yes, no, no]), (true, Step::Outvoted), "of four three are needed");
    assert_eq!(end(&[yes, no, Vote::Doubt]), (false, Step::Outvoted), "it may have given it over");
    assert_eq!(end(&[no, Vote::Failed, Vote::Failed]), (false, Step::Failed));
    assert!(!end(&[yes, yes, no]).0);
}

/// Whether a hold stays where it is that one member of three alone gave over.
pub(crate) fn changes_hands_by_majority() -> bool {
    let stays = |known| {
        let mut ballot = Ballot::of_take_over(3, known);
        for (member, vote) in [Vote::Busy, granted(5, 30), Vote::Busy].into_iter().enumerate() {
            ballot.voted(member, vote);
        }
        let mut step = ballot.step();
        if let Step::Confirm { token, .. } = step {
            ballot.confirmed(1, token, Confirmation::Confirmed);
            step = ballot.step();
        }
        step == Step::Outvoted
    };
    [None, Some(token(5))].into_iter().all(stays)
}

#[test]
fn a_hold_changes_hands_by_a_majority_alone() {
    assert!(changes_hands_by_majority());
}

#[test]
fn only_a_member_that_answered_no_or_failed_keeps_nothing_for_certain() {
    let mut ballot = Ballot::new(6, None);
    let votes = [Vote::Busy, Vote::Failed, Vote::Doubt, Vote::Closed, granted(1, 30)];
    for (member, vote) in votes.into_iter().enumerate() {
        ballot.voted(member, vote);
    }
    let may_hold: Vec<_> = (0..6).filter(|member| ballot.may_hold(*member)).collect();
    assert_eq!(may_hold, [2, 3, 4, 5], "the last one has not answered");
    assert!(!ballot.may_hold(6), "there is no such member");
    assert!(ballot.may_hold_majority());
    ballot.voted(5, Vote::Busy);
    assert!(!ballot.may_hold_majority(), "three of six are none");
}

/// What comes of a repeat that knows of token 5: member 0 grants it anew, member 1 keeps it, and
/// this is what is heard of member 2.
fn repeated(vote: Option<Vote>, confirmation: Option<Confirmation>) -> Step {
    let known = token(5);
    let mut ballot = Ballot::new(3, Some(known));
    ballot.voted(0, granted(9, 30));
    ballot.voted(1, granted(5, 30));
    if let Some(vote) = vote {
        ballot.voted(2, vote);
    }
    if let Some(confirmation) = confirmation {
        assert_eq!(ballot.step(), Step::Confirm { token: known, members: vec![1, 2] });
        ballot.confirmed(1, known, Confirmation::Confirmed);
        ballot.confirmed(2, known, confirmation);
    }
    ballot.step()
}

#[test]
fn a_repeat_wins_no_other_token_as_long_as_a_majority_may_keep_the_known_one() {
    assert_eq!(repeated(Some(granted(5, 30)), Some(Confirmation::Doubt)), Step::Failed);
    assert_eq!(repeated(None, None), Step::Wait);
    for silent in [Vote::Doubt, Vote::Failed] {
        assert_eq!(repeated(Some(silent), None), Step::Failed, "{silent:?}");
    }
}

#[test]
fn a_repeat_wins_another_token_once_no_majority_can_keep_the_known_one() {
    let anew = Step::Confirm { token: token(9), members: vec![0, 1] };
    for gone in [Confirmation::No, Confirmation::KeptOut] {
        assert_eq!(repeated(Some(granted(5, 30)), Some(gone)), anew, "{gone:?}");
    }
    assert_eq!(repeated(Some(Vote::Busy), None), anew);
}

#[test]
fn a_member_that_granted_a_repeat_anew_keeps_nothing_of_the_known_hold() {
    let mut ballot = Ballot::new(3, Some(token(5)));
    for (member, micros) in [(0, 9), (1, 8), (2, 5)] {
        ballot.voted(member, granted(micros, 30));
    }
    let second = token(9);
    assert_eq!(ballot.step(), Step::Confirm { token: second, members: vec![0, 1, 2] });
    ballot.confirmed(1, second, Confirmation::Doubt);
    assert_eq!(ballot.step(), Step::Wait);
    ballot.confirmed(0, second, Confirmation::Confirmed);
    ballot.confirmed(2, second, Confirmation::Confirmed);
    assert_eq!(ballot.step(), Step::Won { token: second, left: SECOND * 30 });
}

#[test]
fn who_did_not_answer_the_second_round_may_hold_the_name() {
    let (mut ballot, token) = sent(3, &[(0, 5), (2, 9)]);
    ballot.confirmed(0, token, Confirmation::Doubt);
    assert!(ballot.may_hold(0));
    assert_eq!(ballot.granted(), 2);
    ballot.voted(1, Vote::Failed);
    assert_eq!(ballot.step(), Step::Failed);
}
