//! The state machine of one lease: when it is renewed, when it is lost.

use std::{collections::BTreeSet, time::Duration};

use tenure_proto::{
    Grace, Hold, LostReason, Renewed, Terms, Timestamp, Ttl,
    hold::{Action, HINT_GAP},
    renewal::{interval, retry_gap},
};

use crate::world::{at, ms};

pub(crate) fn terms(ttl: u64) -> Terms {
    Terms { ttl: Ttl::new(ms(ttl)).expect("a ttl"), grace: Grace::NONE, max_hold: None }
}

fn with_grace(ttl: u64, grace: u64) -> Terms {
    Terms { grace: Grace::new(ms(grace)).expect("a grace"), ..terms(ttl) }
}

fn bounded(ttl: u64, max_hold: u64) -> Terms {
    Terms { max_hold: Some(ms(max_hold)), ..terms(ttl) }
}

/// A lease of 30 s, sent at 0 and answered at 2 ms.
pub(crate) fn held(terms: Terms) -> Hold {
    Hold::granted(at(0), at(2), terms.for_store(), terms).expect("it is granted in time")
}

/// Passes it on to a task that takes it at once.
fn pass(hold: &mut Hold, now: u64, terms: Terms) {
    hold.pass(at(now), terms, WINDOW);
    assert!(hold.claim(at(now)));
}

/// What comes next, apart from telling the holder that it is at risk.
fn next_besides_risk(hold: &Hold, now: u64) -> Action {
    match hold.next_action(at(now)) {
        Action::WaitUntil(due) if hold.is_at_risk(due) => {
            let mut told = hold.clone();
            told.risk_changed(due);
            told.next_action(due)
        }
        other => other,
    }
}

const WINDOW: Duration = ms(500);

pub(crate) const fn renewed(left: u64) -> Renewed {
    Renewed::Renewed { left: ms(left), others_waiting: false }
}

const DEADLINE: u64 = 30_000 - 302;
/// Two thirds of it: half-way from the time of the renewal.
const AT_RISK: Timestamp = Timestamp::from_nanos(2 * DEADLINE * 1_000_000 / 3);

#[test]
fn a_lease_is_renewed_after_a_third_of_its_ttl() {
    let hold = held(terms(30_000));
    assert_eq!(hold.deadline(), at(DEADLINE));
    // On the beat before that: see the next test.
    assert_eq!(hold.next_action(at(2)), Action::WaitUntil(at(9_500)));
    assert_eq!(hold.next_action(at(9_500)), Action::Renew);
    assert_eq!(hold.next_action(at(DEADLINE)), Action::TellLost(LostReason::Deadline));
}

#[test]
fn holds_that_were_granted_at_any_time_are_renewed_together_and_none_later_than_alone() {
    let mut beats = BTreeSet::new();
    for granted in 0..10_000 {
        let hold = Hold::granted(at(granted), at(granted + 2), ms(30_000), terms(30_000)).unwrap();
        let Action::WaitUntil(due) = hold.next_action(at(granted + 2)) else { panic!("not yet") };
        let third = at(granted).saturating_add(ms(DEADLINE) / 3);
        assert!(due <= third && third.since(due) < ms(500), "{granted}: {due:?}");
        beats.insert(due);
    }
    assert!(beats.len() <= 21, "{beats:?}");
}

#[test]
fn a_short_lease_is_not_renewed_at_once_to_be_on_the_beat() {
    for ttl in [10, 50, 1_000] {
        let hold = Hold::granted(at(7), at(7), ms(ttl), terms(ttl)).unwrap();
        let Action::WaitUntil(due) = hold.next_action(at(7)) else { panic!("not yet") };
        assert!(due.since(at(7)) > ms(ttl) / 5, "{ttl}: {due:?}");
    }
    // Much less is left than the ttl says.
    let hold = Hold::granted(at(7), at(8), ms(400), terms(30_000)).unwrap();
    let Action::WaitUntil(due) = hold.next_action(at(8)) else { panic!("not yet") };
    assert!(due.since(at(7)) > ms(20), "{due:?}");
}

#[test]
fn intervals_are_a_third_and_retries_a_twentieth_of_the_ttl() {
    let cases = [(10, 3_333_333, 5), (1_000, 333_333_333, 50), (30_000, 10_000_000_000, 1_000)];
    for (ttl, every, gap) in cases {
        let ttl = Ttl::new(ms(ttl)).unwrap();
        assert_eq!(interval(ttl), Duration::from_nanos(every));
        assert_eq!(retry_gap(ttl), ms(gap));
    }
}

#[test]
fn answers_decide_what_comes_next() {
    let later = 40_000 - 302;
    let again = 19_500;
    // The answer to a renewal sent at 10 s, when it came; then the deadline and the next action.
    let cases = [
        (renewed(30_000), 10_004, later, Action::WaitUntil(at(again))),
        (renewed(30_000), DEADLINE - 1, later, Action::Renew),
        (renewed(30_000), DEADLINE, DEADLINE, Action::TellLost(LostReason::Deadline)),
        (renewed(6_000), 10_004, DEADLINE, Action::WaitUntil(at(10_000 + 5_938 / 3))),
        (renewed(5), 10_004, DEADLINE, Action::WaitUntil(at(11_004))),
        (Renewed::Unknown, 10_900, DEADLINE, Action::WaitUntil(at(11_900))),
        (Renewed::Unknown, DEADLINE, DEADLINE, Action::TellLost(LostReason::Deadline)),
        (Renewed::Lost, 10_004, DEADLINE, Action::TellLost(LostReason::Taken)),
    ];
    for (answer, received, deadline, expected) in cases {
        let mut hold = held(terms(30_000));
        hold.renewal_sent(at(10_000));
        assert_eq!(hold.next_action(at(10_001)), Action::WaitUntil(AT_RISK));
        hold.renewal_answered(at(10_000), at(received), answer);
        assert_eq!(hold.deadline(), at(deadline), "{answer:?} at {received}");
        let action = hold.next_action(at(received));
        let (Action::WaitUntil(found), Action::WaitUntil(wanted)) = (action, expected) else {
            assert_eq!(action, expected, "{answer:?} at {received}");
            continue;
        };
        assert!(found.since(wanted) < ms(1), "{answer:?} at {received}: {found:?}, {wanted:?}");
        assert!(wanted.since(found) < ms(1), "{answer:?} at {received}: {found:?}, {wanted:?}");
    }
}

#[test]
fn a_repeated_acquire_that_found_little_left_is_renewed_soon() {
    let hold = Hold::granted(at(0), at(2), ms(3_033), terms(30_000)).unwrap();
    let Action::WaitUntil(due) = hold.next_action(at(2)) else { panic!("not yet") };
    assert!(due <= at(1_001));
}

#[test]
fn a_session_shorter_than_the_ttl_is_renewed_in_time() {
    let mut hold = Hold::granted(at(0), at(2), ms(6_000), terms(30_000)).unwrap();
    hold.renewal_sent(at(10_000));
    hold.renewal_answered(at(1_979), at(1_981), renewed(6_000));
    let Action::WaitUntil(due) = hold.next_action(at(1_981)) else { panic!("not yet") };
    assert!(due < at(4_000), "a third of what the store gives, not of what was asked");
}

#[test]
fn a_longest_hold_ends_renewals_and_then_the_hold() {
    let hold = held(bounded(30_000, 5_000));
    assert_eq!(hold.deadline(), at(5_002));
    assert_eq!(next_besides_risk(&hold, 2), Action::WaitUntil(at(5_002)));
    assert_eq!(hold.next_action(at(5_002)), Action::TellLost(LostReason::MaxHold));
}

#[test]
fn the_last_renewal_of_a_longest_hold_reaches_its_end() {
    let mut hold = held(bounded(30_000, 35_000));
    let length = hold.renewal_length(at(10_000));
    assert!(length < ms(26_000), "{length:?}");
    hold.renewal_sent(at(10_000));
    hold.renewal_answered(
        at(10_000),
        at(10_003),
        Renewed::Renewed { left: length, others_waiting: false },
    );
    assert_eq!(next_besides_risk(&hold, 10_003), Action::WaitUntil(at(35_002)));
    assert_eq!(hold.next_action(at(35_002)), Action::TellLost(LostReason::MaxHold));
}

#[test]
fn grace_belongs_to_the_store_and_not_to_the_holder() {
    let terms = with_grace(1_000, 60_000);
    assert_eq!(terms.for_store(), ms(61_000));
    assert_eq!(held(terms).deadline(), at(1_000 - 12));
}

#[test]
fn a_lease_passed_on_keeps_the_next_tasks_grace_free() {
    let mut hold = held(terms(30_000));
    let next = with_grace(30_000, 4_000);
    assert_eq!(hold.deadline_for(&next), at(DEADLINE - 4_000));
    pass(&mut hold, 100, next);
    assert_eq!(hold.deadline(), at(DEADLINE - 4_000));
    pass(&mut hold, 200, terms(30_000));
    assert_eq!(hold.deadline(), at(DEADLINE - 4_000), "an old grace is not counted on either");
    assert_eq!(hold.generation(), 2);
}

#[test]
fn a_lease_passed_to_a_task_with_a_short_ttl_is_renewed_as_it_needs() {
    let mut hold = held(terms(30_000));
    pass(&mut hold, 100, terms(300));
    let Action::WaitUntil(due) = hold.next_action(at(100)) else { panic!("not yet") };
    assert_eq!(due, at(200));
}

#[test]
fn each_task_has_a_longest_hold_of_its_own() {
    let mut hold = held(bounded(30_000, 5_000));
    pass(&mut hold, 4_000, bounded(30_000, 5_000));
    assert_eq!(hold.deadline(), at(9_000));
    pass(&mut hold, 8_000, terms(30_000));
    assert_eq!(hold.deadline(), at(DEADLINE));
}

#[test]
fn a_lease_passed_on_is_not_renewed_before_it_is_taken_and_goes_on_if_it_is_not() {
    let mut hold = held(terms(30_000));
    assert!(hold.claimed(), "it was not passed on yet");
    hold.pass(at(9_700), bounded(30_000, 25_000), WINDOW);
    assert!(!hold.claimed());
    assert_eq!(hold.next_action(at(9_900)), Action::WaitUntil(at(10_200)), "a renewal was due");
    assert_eq!(hold.next_action(at(10_200)), Action::PassOn);
    let mut late = hold.clone();
    let generation = hold.generation();
    hold.let_go();
    assert!(hold.generation() > generation, "who takes it now has another");
    assert!(late.claim(at(10_300)), "nobody was quicker");
    assert!(late.claimed());
    assert_eq!(late.next_action(at(10_300)), Action::Renew);
}

#[test]
fn a_lease_passed_on_is_taken_soon_beside_what_is_left() {
    let mut hold = held(terms(300));
    hold.pass(at(100), terms(300), WINDOW);
    let third = at(100).saturating_add(hold.deadline().since(at(100)) / 3);
    assert_eq!(hold.next_action(third), Action::PassOn);
    assert!(!hold.clone().claim(hold.deadline()), "it is over");
    hold.pass(at(100), bounded(300, 20), WINDOW);
    assert!(hold.claim(at(130)));
    assert_eq!(hold.deadline(), at(150), "a longest hold counts from when it was taken");
    hold.end();
    assert!(!hold.claim(at(110)), "it is released");
}

#[test]
fn a_released_lease_is_neither_renewed_nor_lost() {
    let mut hold = held(terms(30_000));
    hold.renewal_sent(at(10_000));
    hold.end();
    hold.renewal_answered(at(10), at(12), Renewed::Lost);
    hold.lose(LostReason::Taken);
    for now in [0, 20_000, 90_000] {
        assert_eq!(hold.next_action(at(now)), Action::WaitUntil(Timestamp::NEVER));
    }
}

#[test]
fn a_retry_that_would_come_too_late_is_the_end_of_waiting() {
    let mut hold = held(terms(30_000));
    hold.renewal_sent(at(10_000));
    hold.renewal_answered(at(29_000), at(DEADLINE - 10), Renewed::Unknown);
    assert_eq!(hold.risk_changed(at(DEADLINE - 10)), Some(true));
    assert_eq!(hold.next_action(at(DEADLINE - 10)), Action::WaitUntil(at(DEADLINE)));
}

#[test]
fn a_lease_says_whether_it_waits_for_an_answer_and_whether_it_was_released() {
    let mut hold = held(terms(30_000));
    assert!(!hold.renewal_unanswered());
    hold.renewal_sent(at(10_000));
    assert!(hold.renewal_unanswered());
    hold.renewal_answered(at(10_000), at(10_001), Renewed::Unknown);
    assert!(!hold.renewal_unanswered());
    assert!(!hold.ended());
    let mut lost = hold.clone();
    lost.lose(LostReason::Taken);
    assert!(!lost.ended());
    hold.end();
    assert!(hold.ended());
}

#[test]
fn a_hold_can_be_bounded_while_it_lasts() {
    let mut hold = held(terms(30_000));
    hold.bound(at(4_000), Some(ms(5_000)));
    assert_eq!(hold.deadline(), at(9_000));
    assert_eq!(hold.terms().max_hold, Some(ms(5_000)));
    assert_eq!(hold.next_action(at(9_000)), Action::TellLost(LostReason::MaxHold));
    hold.bound(at(4_000), None);
    assert_eq!(hold.deadline(), at(DEADLINE));
}

#[test]
fn the_first_reason_of_a_loss_stays() {
    let mut hold = held(terms(30_000));
    hold.lose(LostReason::Taken);
    hold.lose(LostReason::MaxHold);
    for now in [3, DEADLINE] {
        assert_eq!(hold.next_action(at(now)), Action::TellLost(LostReason::Taken));
    }
    assert!(!hold.claim(at(3)));
}

#[test]
fn a_hint_makes_a_renewal_due_now_and_decides_nothing_by_itself() {
    let mut hold = held(terms(30_000));
    hold.hinted(at(100));
    assert_eq!(hold.next_action(at(100)), Action::Renew);
    assert_eq!(hold.deadline(), at(DEADLINE));
    hold.renewal_sent(at(100));
    assert_eq!(hold.next_action(at(100)), Action::WaitUntil(AT_RISK));
    let mut evicted = hold.clone();
    hold.renewal_answered(at(100), at(104), renewed(30_000));
    let Action::WaitUntil(due) = hold.next_action(at(104)) else { panic!("it stays held") };
    assert!(due == at(9_500), "the next renewal is the usual one: {due:?}");
    evicted.renewal_answered(at(100), at(104), Renewed::Lost);
    assert_eq!(evicted.next_action(at(104)), Action::TellLost(LostReason::Taken));
}

#[test]
fn a_hint_during_a_renewal_is_looked_into_after_its_answer() {
    let mut hold = held(terms(30_000));
    hold.renewal_sent(at(10_000));
    hold.hinted(at(10_002));
    assert_eq!(hold.next_action(at(10_002)), Action::WaitUntil(AT_RISK));
    // The store may have answered before it took the name away.
    hold.renewal_answered(at(10_000), at(10_004), renewed(30_000));
    assert_eq!(
        hold.next_action(at(10_004)),
        Action::WaitUntil(at(10_000).saturating_add(HINT_GAP))
    );
    assert_eq!(hold.next_action(at(10_000).saturating_add(HINT_GAP)), Action::Renew);
}

#[test]
fn a_flood_of_hints_causes_one_renewal_in_each_gap() {
    let mut hold = held(terms(30_000));
    let mut renewals = 0;
    for now in 100..1_100 {
        hold.hinted(at(now));
        if hold.next_action(at(now)) == Action::Renew {
            renewals += 1;
            hold.renewal_sent(at(now));
            hold.hinted(at(now));
            hold.renewal_answered(at(now), at(now), renewed(30_000));
        }
    }
    assert_eq!(renewals, 20);
}

#[test]
fn a_hint_is_looked_into_although_the_lease_outlasts_the_hold() {
    let mut hold = held(bounded(30_000, 5_000));
    hold.hinted(at(100));
    assert_eq!(hold.next_action(at(100)), Action::Renew);
    hold.renewal_sent(at(100));
    let mut unknown = hold.clone();
    hold.renewal_answered(at(100), at(104), renewed(30_000));
    assert_eq!(next_besides_risk(&hold, 104), Action::WaitUntil(at(5_002)));
    // What nobody answered is asked again: this hold has no other renewal that could find it out.
    unknown.renewal_answered(at(100), at(104), Renewed::Unknown);
    let Action::WaitUntil(again) = unknown.next_action(at(104)) else { panic!("not at once") };
    assert!(again < at(1_500), "{again:?}");
    assert_eq!(unknown.next_action(again), Action::Renew);
}

#[test]
fn a_hint_that_is_due_later_gives_way_to_one_that_is_due_now() {
    let mut hold = held(terms(30_000));
    hold.hinted(at(900));
    assert_eq!(hold.next_action(at(100)), Action::WaitUntil(at(900)));
    hold.hinted(at(100));
    assert_eq!(hold.next_action(at(100)), Action::Renew);
    hold.hinted(at(950));
    assert_eq!(hold.next_action(at(100)), Action::Renew);
}

#[test]
fn a_hint_renews_nothing_for_a_hold_that_nobody_has() {
    let mut passed = held(terms(30_000));
    passed.pass(at(50), terms(30_000), WINDOW);
    passed.hinted(at(100));
    assert_eq!(passed.next_action(at(100)), Action::WaitUntil(at(550)));
    assert!(passed.claim(at(200)));
    assert_eq!(passed.next_action(at(200)), Action::Renew);

    let mut ended = held(terms(30_000));
    ended.end();
    ended.hinted(at(100));
    assert_eq!(ended.next_action(at(100)), Action::WaitUntil(Timestamp::NEVER));

    let mut lost = held(terms(30_000));
    lost.lose(LostReason::Taken);
    lost.hinted(at(100));
    assert_eq!(lost.next_action(at(100)), Action::TellLost(LostReason::Taken));
}

#[test]
fn a_hold_is_at_risk_from_half_of_its_margin_until_a_renewal_succeeds() {
    let mut hold = held(terms(30_000));
    let before = AT_RISK.saturating_sub(ms(1));
    assert_eq!((hold.is_at_risk(before), hold.risk_changed(before)), (false, None));
    hold.renewal_sent(at(10_000));
    assert_eq!((hold.is_at_risk(AT_RISK), hold.risk_changed(AT_RISK)), (true, Some(true)));
    assert_eq!(hold.risk_changed(at(20_000)), None, "its holder knows");
    assert_eq!(hold.next_action(at(20_000)), Action::WaitUntil(at(DEADLINE)));
    hold.renewal_answered(at(10_000), at(20_001), Renewed::Unknown);
    assert!(hold.is_at_risk(at(20_001)));
    hold.renewal_sent(at(21_000));
    hold.renewal_answered(at(21_000), at(21_002), renewed(30_000));
    assert_eq!((hold.is_at_risk(at(21_002)), hold.risk_changed(at(21_002))), (false, Some(false)));
    assert_eq!(hold.risk_changed(at(21_003)), None);
    assert!(!hold.is_at_risk(at(40_700)) && hold.is_at_risk(at(40_900)));
}

#[test]
fn an_answer_that_shortens_nothing_does_not_put_a_hold_at_risk() {
    let mut hold = held(terms(30_000));
    hold.renewal_sent(at(9_500));
    hold.renewal_answered(at(9_500), at(9_502), renewed(5_000));
    assert_eq!(hold.deadline(), at(DEADLINE));
    assert!(!hold.is_at_risk(at(19_000)) && hold.is_at_risk(AT_RISK));
}

#[test]
fn a_short_lease_is_at_risk_by_what_is_left_and_not_by_the_ttl() {
    let hold = Hold::granted(at(0), at(2), ms(6_000), terms(30_000)).unwrap();
    assert!(!hold.is_at_risk(at(3_900)) && hold.is_at_risk(at(4_000)));
}

#[test]
fn a_longest_hold_is_at_risk_before_its_end_even_if_its_lease_lasts() {
    for (max_hold, from) in [(5_000, 3_335), (25_000, 16_669), (90_000, 80_002)] {
        let mut hold = held(bounded(30_000, max_hold));
        for second in 1..8 {
            hold.renewal_answered(at(second * 10_000), at(second * 10_000), renewed(30_000));
        }
        let from = at(from + 1);
        let before = from.saturating_sub(ms(2));
        assert!(!hold.is_at_risk(before) && hold.is_at_risk(from), "{max_hold}");
    }
    let mut unbounded = held(terms(30_000));
    assert!(!unbounded.is_at_risk(at(5_000)));
    unbounded.bound(at(4_000), Some(ms(1_200)));
    assert_eq!(unbounded.next_action(at(4_000)), Action::WaitUntil(at(4_800)));
    assert_eq!(unbounded.risk_changed(at(4_800)), Some(true));
}

#[test]
fn only_a_hold_that_a_task_has_is_at_risk() {
    let mut hold = held(terms(30_000));
    let late = at(DEADLINE - 100);
    assert_eq!(hold.risk_changed(late), Some(true));
    hold.pass(late, terms(30_000), WINDOW);
    assert_eq!((hold.is_at_risk(late), hold.risk_changed(late)), (false, None));
    assert!(hold.claim(late));
    assert_eq!(hold.risk_changed(late), None, "it has just got what is left");
    let late = at(DEADLINE - 20);
    assert_eq!(hold.risk_changed(late), Some(true), "the next holder does not know");
    let mut lost = hold.clone();
    lost.lose(LostReason::Taken);
    assert_eq!((lost.is_at_risk(late), lost.risk_changed(late)), (false, None));
    assert_eq!(hold.risk_changed(at(DEADLINE)), None, "it is lost");
    hold.end();
    assert!(!hold.is_at_risk(late));
}

#[test]
fn what_is_left_of_a_lease_is_a_share_of_what_the_store_vouches_for() {
    let share = |hold: &Hold, now| {
        let (left, length) = hold.lease_left(at(now));
        left.as_secs_f64() / length.as_secs_f64()
    };
    let near = |share: f64, wanted: f64| assert!((share - wanted).abs() < 0.01, "{share}");
    // As a renewal is due, as it is at risk, and as it is lost.
    let full = held(terms(30_000));
    for (now, wanted) in [(10_000, 0.66), (20_000, 0.33), (DEADLINE, 0.0)] {
        near(share(&full, now), wanted);
    }
    let short = Hold::granted(at(0), at(2), ms(6_000), terms(30_000)).unwrap();
    for (now, wanted) in [(2_000, 0.66), (4_000, 0.33)] {
        near(share(&short, now), wanted);
    }
    // The end of the hold says nothing of renewals.
    near(share(&held(bounded(30_000, 11_000)), 10_000), 0.66);
}
