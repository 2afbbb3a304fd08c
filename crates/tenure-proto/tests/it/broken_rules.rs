//! Breaking a rule is noticed: by the scenario of a promise, and by random histories.

use proptest::{
    strategy::Strategy,
    test_runner::{Config, TestCaseError, TestError, TestRunner},
};
use tenure_proto::rule::{Rule, break_rule};

use crate::{
    hold_histories, local_queue, queue_model, queue_take_over, quorum_ballot, safety, turn,
};

/// Whether a promise holds.
type Scenario = fn() -> bool;

/// What is true while a rule is kept, for each rule that has its home here. The others are kept by
/// the core, the memory store and the resource.
const SCENARIOS: &[(Rule, Scenario)] = &[
    (Rule::OwnerCheckedOnRelease, safety::only_your_own),
    (Rule::OwnerCheckedOnRenewal, safety::only_your_own),
    (Rule::OwnerCheckedOnTakeOver, queue_take_over::changes_hands),
    (Rule::TakeOverEndsTheOld, queue_take_over::changes_hands),
    (Rule::TakeOverRaisesToken, queue_take_over::changes_hands),
    (Rule::TakeOverByMajority, quorum_ballot::changes_hands_by_majority),
    (Rule::RenewalNeverCreates, safety::exclusion),
    (Rule::DeadlineCountsFromSending, safety::the_holder_stops_first),
    (Rule::LateGrantRefused, safety::the_holder_stops_first),
    (Rule::DriftAllowedFor, safety::the_holder_stops_first),
    (Rule::LostIsFinal, safety::the_watchdog_ends),
    (Rule::RenewalEndsWithGuard, safety::the_watchdog_ends),
    (Rule::FailedRenewalTriedAgain, safety::a_failed_renewal_is_tried_again),
    (Rule::AbsentWaiterPassedOver, safety::the_dead_hold_nobody_up),
    (Rule::RepeatNeverExtends, safety::a_repeat_extends_nothing),
    (Rule::PassRaisesToken, || turn::passes(1_000).1),
    (Rule::TurnIsBounded, || turn::passes(1_000).0 <= 64),
    (Rule::UntakenGoesOn, local_queue::goes_on),
    (Rule::UntakenGoesOn, local_queue::goes_on),
];

const QUEUE: &[Rule] = &[
    Rule::OwnerCheckedOnTakeOver,
    Rule::TakeOverEndsTheOld,
    Rule::TakeOverRaisesToken,
    Rule::OwnerCheckedOnRelease,
    Rule::OwnerCheckedOnRenewal,
    Rule::RenewalNeverCreates,
    Rule::AbsentWaiterPassedOver,
    Rule::RepeatNeverExtends,
];

const HOLD: &[Rule] = &[
    Rule::DeadlineCountsFromSending,
    Rule::LateGrantRefused,
    Rule::DriftAllowedFor,
    Rule::LostIsFinal,
    Rule::RenewalEndsWithGuard,
    Rule::FailedRenewalTriedAgain,
];

#[test]
fn each_broken_rule_fails_its_scenario() {
    for (rule, holds) in SCENARIOS {
        assert!(holds(), "{rule:?} is kept");
        let _broken = break_rule(*rule);
        assert!(!holds(), "nobody noticed that {rule:?} was broken");
    }
}

#[test]
fn each_broken_rule_of_the_queue_shows_in_its_histories() {
    for rule in QUEUE {
        assert!(
            noticed(*rule, queue_model::history(), |history| queue_model::play(history)),
            "{rule:?}"
        );
    }
}

#[test]
fn each_broken_rule_of_a_hold_shows_in_its_histories() {
    for rule in HOLD {
        assert!(noticed(*rule, hold_histories::history(), hold_histories::play), "{rule:?}");
    }
}

/// Whether some history goes wrong while `rule` is broken.
fn noticed<T: std::fmt::Debug>(
    rule: Rule,
    history: impl Strategy<Value = T>,
    play: impl Fn(&T) -> Result<(), String>,
) -> bool {
    let _broken = break_rule(rule);
    let config = Config { cases: 20_000, failure_persistence: None, ..Config::default() };
    let found = TestRunner::new(config)
        .run(&history, |history| play(&history).map_err(TestCaseError::fail));
    matches!(found, Err(TestError::Fail(..)))
}
