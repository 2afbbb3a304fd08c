//! The suite that every store passes: at least one case for each numbered clause of the
//! [contract](tenure_core::store).
//!
//! A case is a function of a [`Scene`]. It reads what the store can do from the store, and what
//! the store cannot do it must refuse: no case passes silently.

#![allow(clippy::panic, reason = "a case fails by panicking")]

mod adapter;
mod client;
mod scene;

pub mod bounds;
pub mod capabilities;
pub mod eviction;
pub mod expiry;
pub mod handoff;
pub mod history;
pub mod incarnation;
pub mod inspection;
pub mod kind;
pub mod lingering;
pub mod many_clients;
pub mod names;
pub mod order;
pub mod ownership;
pub mod permits;
pub mod raising;
pub mod release;
pub mod renewal;
pub mod repeating;
pub mod runtimes;
pub mod shared;
pub mod slot_records;
pub mod take_over;
pub mod together;
pub mod tokens;
pub mod try_and_wait;
pub mod turn;

use std::future::Future;

pub use adapter::Adapter;
pub use client::{Busy, Client, Grant};
pub use scene::Scene;

/// Runs one case in a runtime of its own, on this thread.
///
/// # Panics
/// When the store breaks the clause that the case shows.
pub fn run<F: Future<Output = ()>>(adapter: impl Adapter, case: impl FnOnce(Scene) -> F) {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(case(Scene::new(adapter))),
        Err(error) => panic!("no runtime for the case: {error:#}"),
    }
}

/// Mounts the suite: one test for each case. The expression makes an [`Adapter`] and is evaluated
/// once for each. The [crate's documentation](crate) has an example.
#[macro_export]
macro_rules! conformance {
    ($adapter:expr) => {
        $crate::mount_cases! { $adapter;
            repeating {
                a_repeated_acquire_answers_the_same_token
                a_repeated_acquire_never_extends_the_lease
                a_repeated_acquire_does_not_put_off_the_end
            }
            try_and_wait {
                a_free_name_is_granted_at_once
                a_try_that_fails_leaves_nothing_behind
                a_wait_keeps_a_place
                a_place_ends_when_it_is_not_asked_for
                asking_again_keeps_the_place
                a_waiter_passed_over_gets_its_place_back
                a_waiter_whose_position_ended_gets_it_back
                a_waiter_that_asks_when_told_needs_no_hint
                a_waiter_far_back_is_told_to_keep_its_place
            }
            handoff {
                a_release_offers_the_name_to_the_next_waiter
                nobody_holds_a_name_before_claiming_it
                a_claim_sets_the_full_ttl
                an_unclaimed_offer_passes_on
                the_next_waiter_is_hinted
            }
            release {
                a_release_frees_the_name
                a_repeated_release_answers_not_held
                a_release_of_nothing_answers_not_held
                a_release_gives_up_a_place
                a_release_tells_nothing_to_a_lease_that_ended
            }
            renewal {
                a_renewal_extends_the_lease
                a_renewal_never_shortens_the_lease
                a_renewal_never_brings_back_a_lease_that_ended
                a_renewal_never_creates_a_lease
                a_renewal_never_claims_an_offer
                each_hold_is_answered_for_alone
                nothing_to_renew_gives_no_answers
                a_renewal_tells_whether_others_wait
            }
            ownership {
                a_release_by_another_owner_changes_nothing
                a_renewal_by_another_owner_changes_nothing
                a_turn_by_another_owner_changes_nothing
                giving_up_one_place_leaves_the_others
                two_owners_of_one_client_exclude_each_other
            }
            tokens {
                tokens_rise_after_a_release
                tokens_rise_after_an_expiry
                tokens_rise_after_an_eviction
                tokens_rise_through_a_handoff
                tokens_rise_when_the_store_lost_its_data
                tokens_leave_room_for_passes
            }
            raising {
                a_raised_token_is_what_a_repeat_answers
                a_smaller_token_is_stale
                only_the_holder_raises
                tokens_rise_above_a_raised_one
            }
            order {
                waiters_are_served_in_the_order_of_asking
                a_newcomer_passes_nobody
                ahead_counts_those_in_front
                a_waiter_that_left_is_not_waited_for
                a_barging_ask_takes_a_free_name
            }
            turn {
                a_turn_without_waiters_grants_anew
                a_turn_lets_the_waiter_go_first
                a_barging_turn_passes_nobody
                a_repeated_turn_answers_the_same
                after_a_turn_the_old_owner_has_nothing
                a_turn_of_one_who_has_nothing_is_an_ask
            }
            shared {
                readers_hold_together
                a_writer_and_readers_exclude_each_other
                all_leading_readers_enter_together
                a_reader_does_not_pass_a_waiting_writer
                an_exclusive_hold_becomes_a_shared_one
                a_shared_hold_does_not_become_an_exclusive_one
            }
            permits {
                permits_are_counted
                a_release_lets_in_as_many_as_fit
                a_small_ask_does_not_pass_a_large_one
                a_large_ask_that_leaves_lets_the_small_ones_in
                permits_that_can_never_fit_are_refused
            }
            kind {
                a_name_shows_what_it_is_used_as
                a_lock_of_another_kind_does_not_enter
                a_lock_of_another_kind_does_not_pass_a_waiter
            }
            lingering {
                a_kept_name_stays_taken
                a_keep_that_is_too_long_is_refused
                a_kept_name_is_free_in_the_end
                a_kept_name_can_be_neither_renewed_nor_released
                a_kept_name_can_be_evicted
                a_kept_name_outlives_its_process
                a_kept_owner_is_granted_nothing
            }
            eviction {
                an_evicted_holder_has_lost
                an_eviction_says_who_held
                a_hold_that_was_seen_is_evicted_and_not_the_next
                one_of_several_is_evicted_alone
                an_eviction_lets_the_next_waiter_in
                evicting_nobody_is_harmless
                an_evicted_holder_is_told
                all_who_are_evicted_are_told
                a_hint_of_an_eviction_decides_nothing
                a_hint_to_holders_takes_nothing
                nobody_is_asked_to_let_go_whom_nobody_asked
            }
            inspection {
                a_free_name_shows_nobody
                holders_and_waiters_are_shown
                looking_changes_nothing
                names_are_listed_in_order
                a_list_is_cut_and_says_so
                names_not_in_use_are_not_listed
                health_says_something
            }
            names {
                hostile_names_are_kept_apart
                the_longest_name_works
                a_prefix_is_taken_literally
            }
            expiry {
                a_lease_ends_by_itself
                a_lease_does_not_end_early
                the_rest_of_a_lease_counts_down
                an_ended_lease_lets_the_waiter_in
                the_end_of_a_process_frees_its_holds
            }
            bounds {
                no_more_wait_than_the_store_allows
                a_full_queue_leaves_those_in_it_alone
                a_try_is_busy_when_the_queue_is_full
                no_more_hold_together_than_the_store_allows
            }
            runtimes {
                calls_come_from_any_runtime
                the_engine_sees_the_same_locks
                calls_run_side_by_side
                a_dropped_call_ends_within_one_ttl
            }
            capabilities {
                a_store_says_what_and_where_it_is
                every_client_declares_the_same
                lengths_declared_are_usable
                reasons_are_for_what_is_lacking
                a_lease_that_is_too_long_is_refused
                a_detached_lease_that_is_too_long_is_refused
            }
            together {
                free_names_are_granted_together
                one_busy_name_leaves_the_others_free
                repeating_a_joint_ask_is_harmless
                tokens_rise_through_joint_grants
                a_joint_ask_passes_nobody
                each_joint_hold_is_a_hold_like_any_other
                names_whose_leases_ended_are_granted_together
                what_is_refused_for_one_is_granted_for_none
                readers_and_writers_are_asked_for_together
                names_that_make_no_sense_together_are_refused
                joint_asks_that_cross_all_end
            }
            take_over {
                a_hold_changes_hands
                whoever_was_taken_over_from_has_nothing
                a_hold_is_taken_over_once
                a_repeated_take_over_is_harmless
                nothing_is_taken_over_from_who_has_nothing
                a_lease_that_ended_is_not_taken_over
                a_kept_name_is_not_taken_over
                a_take_over_sets_the_lease_anew
                a_take_over_passes_those_who_wait
                what_was_taken_over_is_a_hold_like_any_other
                a_reader_among_readers_is_taken_over
                permits_are_taken_over
                another_mode_is_not_taken_over
                a_detached_hold_outlives_its_process
                a_detached_hold_ends_with_its_lease
                a_detached_hold_is_renewed_and_released_by_anybody
                a_detached_hold_can_be_evicted
                what_is_attached_ends_with_its_process
            }
            slot_records {
                the_holder_writes_the_record_of_its_slots
                nobody_else_writes_the_record_of_the_slots
                a_record_is_replaced_and_a_repeated_write_is_harmless
                a_late_copy_of_a_write_changes_nothing
                a_record_outlives_its_holder_and_the_breaking_of_its_lock
                a_record_is_gone_when_its_time_is_over
                names_have_records_of_their_own
                a_record_of_the_greatest_length_is_kept_and_a_longer_one_refused
                everybody_sees_the_same_time_of_day
            }
            history {
                what_is_added_all_see_in_order
                an_event_has_the_time_at_which_it_happened
                no_more_events_are_kept_than_the_retention_allows
                a_history_is_gone_when_its_time_is_over
                a_history_is_beside_the_lock
                names_have_histories_of_their_own
                what_several_add_at_a_time_is_all_there
                the_longest_events_are_kept_as_often_as_they_may_be
                events_of_a_hold_are_read_as_they_were_written
            }
            incarnation {
                everybody_sees_the_same_incarnation
                work_does_not_change_the_incarnation
                each_loss_changes_the_incarnation
            }
            many_clients {
                contenders_exclude_each_other
                waiters_are_all_served
            }
        }
    };
}

/// Makes one test of each case.
#[doc(hidden)]
#[macro_export]
macro_rules! mount_cases {
    ($adapter:expr; $($group:ident { $($case:ident)+ })+) => {$(
        mod $group {
            #[allow(unused_imports, reason = "the adapter may be named by a full path")]
            use super::*;

            $(
                #[test]
                fn $case() {
                    $crate::conformance::run($adapter, $crate::conformance::$group::$case);
                }
            )+
        }
    )+};
}
