//! The suite on one server, and on an ensemble of three; and with settings that change what a lock is.

mod one {
    use crate::places::Place;

    tenure_testkit::conformance!(Place::on_one());
}

mod kazoo {
    use crate::places::Place;

    tenure_testkit::conformance!(Place::on_one_with("&layout=kazoo&readers=yes"));
}

/// Only what readers change.
mod kazoo_without_readers {
    use crate::places::Place;

    tenure_testkit::mount_cases! { Place::on_one_with("&layout=kazoo");
        shared {
            readers_hold_together
            a_writer_and_readers_exclude_each_other
            an_exclusive_hold_becomes_a_shared_one
            a_shared_hold_does_not_become_an_exclusive_one
        }
        kind {
            a_name_shows_what_it_is_used_as
            a_lock_of_another_kind_does_not_enter
        }
        bounds {
            no_more_hold_together_than_the_store_allows
        }
        capabilities {
            every_client_declares_the_same
            reasons_are_for_what_is_lacking
        }
    }
}

/// Only what tokens change, and passes, which there are none of.
mod bare_tokens {
    use crate::places::Place;

    tenure_testkit::mount_cases! { Place::on_one_with("&tokens=czxid");
        repeating {
            a_repeated_acquire_answers_the_same_token
        }
        tokens {
            tokens_rise_after_a_release
            tokens_rise_after_an_expiry
            tokens_rise_after_an_eviction
            tokens_rise_through_a_handoff
            tokens_rise_when_the_store_lost_its_data
            tokens_leave_room_for_passes
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
            an_exclusive_hold_becomes_a_shared_one
        }
        permits {
            permits_are_counted
        }
        eviction {
            an_eviction_says_who_held
            a_hold_that_was_seen_is_evicted_and_not_the_next
        }
        inspection {
            holders_and_waiters_are_shown
            names_are_listed_in_order
        }
        capabilities {
            every_client_declares_the_same
            lengths_declared_are_usable
            reasons_are_for_what_is_lacking
        }
        many_clients {
            contenders_exclude_each_other
            waiters_are_all_served
        }
    }
}

mod three {
    use crate::places::Place;

    tenure_testkit::conformance!(Place::on_three());
}
