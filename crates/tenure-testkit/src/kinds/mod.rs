//! What each kind of lock does on each store: cases over a [`Tenure`], as its users have
//! it.
//!
//! The [contract's suite](mod@crate::conformance) shows what a store answers; this one shows what
//! becomes of it. Each kind is a file. On a store that lacks what a kind needs, its cases show that
//! it is refused with a clear error instead.
//!
//! With `TENURE_KINDS` in the environment each case leaves a line in the file of that name: the
//! store, the kind, the case, how it ended, and why. `scripts/test` makes its table of them.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a case fails by panicking")]

mod record;
mod scene;

pub mod all;
pub mod election;
pub mod fair;
pub mod latch;
pub mod mutex;
pub mod reentrant;
pub mod rwlock;
pub mod semaphore;

use std::{future::Future, pin::Pin};

use record::CaseRecord;
pub use scene::Scene;
use tenure_core::{Tenure, store::Capabilities};

use crate::conformance::Adapter;

/// The error of something that is tried, `None` if it succeeds.
pub type Attempt = Pin<Box<dyn Future<Output = Option<String>> + Send>>;

/// One kind of lock.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name, which is that of its file.
    pub name: &'static str,
    /// What it needs that a store lacks, in a few words.
    pub lacks: fn(&Capabilities) -> Option<&'static str>,
    /// Uses it once.
    pub attempt: fn(Tenure) -> Attempt,
}

/// Runs one case of `kind` on `store`, on real time and in a runtime of its own. Each place is
/// fresh.
///
/// # Panics
/// When the case fails, and when a store that lacks what the kind needs does not refuse it.
pub fn run<F: Future<Output = ()>>(
    store: &str,
    kind: Kind,
    case: &str,
    adapter: impl Adapter,
    body: impl FnOnce(Scene) -> F,
) {
    let mut record = CaseRecord::new(store, kind.name, case);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let scene = Scene::new(adapter);
        let tenure = scene.tenure().await;
        match (kind.lacks)(tenure.store().capabilities()) {
            None => {
                body(scene).await;
                record.passed();
            }
            Some(lacks) => {
                let refusal = (kind.attempt)(tenure).await;
                let refusal = refusal.unwrap_or_else(|| panic!("{lacks}, but it was not refused"));
                assert!(refusal.contains(scene::NAME), "it does not name the lock: {refusal}");
                record.refused(lacks);
            }
        }
    });
}

/// Mounts the cases of every kind for one store: one test for each. The expression makes an
/// [`Adapter`] on real time, and is evaluated once for each.
#[macro_export]
macro_rules! kinds {
    ($store:literal, $adapter:expr) => {
        $crate::mount_kinds! { $store, $adapter;
            mutex {
                one_holds_it_at_a_time
                a_waiter_gets_it_after_a_release
                a_lease_that_ends_frees_it
                an_evicted_holder_is_told
                an_evicted_holder_is_told_before_it_renews
                many_processes_exclude_each_other
                a_look_shows_who_holds_it_and_who_waits
                a_holder_that_is_asked_to_release_hears_why_and_decides
                a_broken_holder_is_told_who_broke_it_and_why
                a_look_tells_who_holds_it_as_fields
            }
            fair {
                processes_are_served_in_the_order_of_asking
                tasks_of_one_process_are_served_in_the_order_of_asking
            }
            reentrant {
                a_scope_enters_again_and_others_wait
                another_scope_stays_out
                a_lost_hold_is_not_entered
                without_a_scope_it_is_an_error
                a_look_shows_one_hold
            }
            rwlock {
                readers_share_and_a_writer_excludes
                a_writer_that_waits_is_not_starved
                a_downgrade_keeps_the_token_and_lets_readers_in
                a_dead_reader_frees_only_itself
                tokens_of_readers_lie_between_those_of_writers
                a_look_shows_readers_and_the_writer_that_waits
            }
            semaphore {
                never_more_than_there_are
                many_are_taken_at_once_or_none
                permits_of_the_dead_come_back
                the_number_can_change_while_it_is_used
                a_look_shows_what_is_available_and_who_has_the_rest
            }
            all {
                all_are_held_or_none
                orders_that_cross_do_not_block_each_other
                one_lost_part_loses_the_whole
            }
            latch {
                it_opens_when_all_have_arrived
                an_arrival_counts_once_whoever_repeats_it
                an_arrival_outlives_its_process
                a_reset_closes_it_again
            }
            election {
                one_leads_and_terms_rise
                observers_see_each_leader
                a_dead_leader_is_succeeded
                a_leader_that_was_deposed_is_told
                a_look_shows_the_candidates_in_line
            }
        }
    };
}

/// Makes one test of each case.
#[doc(hidden)]
#[macro_export]
macro_rules! mount_kinds {
    ($store:literal, $adapter:expr; $($kind:ident { $($case:ident)+ })+) => {$(
        mod $kind {
            #[allow(unused_imports, reason = "the adapter may be named by a full path")]
            use super::*;

            $(
                #[test]
                fn $case() {
                    use $crate::kinds::{$kind, run};
                    run($store, $kind::KIND, stringify!($case), $adapter, $kind::$case);
                }
            )+
        }
    )+};
}
