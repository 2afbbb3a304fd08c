//! The suite bites: with a rule of the store broken, the case that shows it fails.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
};

use tenure_core::proto::rule::{Rule, break_rule};
use tenure_testkit::conformance::{
    self, Scene, handoff, ownership, permits, renewal, repeating, shared, take_over, together,
    tokens,
};

use crate::conformance_memory::Memory;

/// Asserts that `case` passes, and fails once `rule` is broken.
#[track_caller]
fn bites<F: Future<Output = ()>>(rule: Rule, case: impl Fn(Scene) -> F) {
    conformance::run(Memory::new(), &case);
    let broken = break_rule(rule);
    let outcome = catch_unwind(AssertUnwindSafe(|| conformance::run(Memory::new(), &case)));
    drop(broken);
    assert!(outcome.is_err(), "nothing noticed that this was broken: {}", rule.sentence());
}

#[test]
fn a_release_without_owner_check_is_noticed() {
    bites(Rule::OwnerCheckedOnRelease, ownership::a_release_by_another_owner_changes_nothing);
}

#[test]
fn a_renewal_without_owner_check_is_noticed() {
    bites(Rule::OwnerCheckedOnRenewal, ownership::a_renewal_by_another_owner_changes_nothing);
}

#[test]
fn a_renewal_that_creates_is_noticed() {
    bites(Rule::RenewalNeverCreates, renewal::a_renewal_never_brings_back_a_lease_that_ended);
}

#[test]
fn a_repeat_that_extends_is_noticed() {
    bites(Rule::RepeatNeverExtends, repeating::a_repeated_acquire_never_extends_the_lease);
    bites(Rule::RepeatNeverExtends, repeating::a_repeated_acquire_does_not_put_off_the_end);
}

#[test]
fn an_absent_waiter_that_is_waited_for_is_noticed() {
    bites(Rule::AbsentWaiterPassedOver, handoff::an_unclaimed_offer_passes_on);
}

#[test]
fn tokens_that_die_with_the_memory_are_noticed() {
    bites(Rule::TokensOutliveMemory, tokens::tokens_rise_when_the_store_lost_its_data);
}

#[test]
fn a_reader_beside_a_writer_is_noticed() {
    bites(Rule::NoReaderBesideWriter, shared::a_writer_and_readers_exclude_each_other);
}

#[test]
fn permits_that_are_not_counted_are_noticed() {
    bites(Rule::PermitsCounted, permits::permits_are_counted);
}

#[test]
fn who_passes_the_first_in_line_is_noticed() {
    bites(Rule::FirstInLineNotOvertaken, shared::a_reader_does_not_pass_a_waiting_writer);
    bites(Rule::FirstInLineNotOvertaken, permits::a_small_ask_does_not_pass_a_large_one);
}

#[test]
fn a_take_over_that_is_wrong_is_noticed() {
    use take_over as cases;
    bites(Rule::OwnerCheckedOnTakeOver, cases::nothing_is_taken_over_from_who_has_nothing);
    bites(Rule::TakeOverEndsTheOld, cases::whoever_was_taken_over_from_has_nothing);
    bites(Rule::TakeOverRaisesToken, cases::a_hold_changes_hands);
}

#[test]
fn a_joint_grant_of_a_part_is_noticed() {
    bites(Rule::JointGrantIsAllOrNone, together::one_busy_name_leaves_the_others_free);
}
