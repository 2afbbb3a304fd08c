//! Behind PgBouncer in transaction mode.

/// Cases of the suite with many calls at a time, where nobody waits for messages.
mod silent {
    use crate::{places::Place, pooler::pooler};

    tenure_testkit::mount_cases! { Place::at(&pooler().url_of("tenure"), "&listen=no");
        repeating {
            a_repeated_acquire_answers_the_same_token
        }
        try_and_wait {
            asking_again_keeps_the_place
            a_waiter_that_asks_when_told_needs_no_hint
        }
        handoff {
            a_release_offers_the_name_to_the_next_waiter
            an_unclaimed_offer_passes_on
        }
        renewal {
            a_renewal_extends_the_lease
            each_hold_is_answered_for_alone
        }
        tokens {
            tokens_rise_after_an_expiry
            tokens_rise_through_a_handoff
        }
        shared {
            a_writer_and_readers_exclude_each_other
            all_leading_readers_enter_together
        }
        permits {
            permits_are_counted
        }
        take_over {
            a_hold_changes_hands
        }
        together {
            free_names_are_granted_together
            each_joint_hold_is_a_hold_like_any_other
            joint_asks_that_cross_all_end
        }
        runtimes {
            calls_come_from_any_runtime
            calls_run_side_by_side
            a_dropped_call_ends_within_one_ttl
        }
        slot_records {
            the_holder_writes_the_record_of_its_slots
            nobody_else_writes_the_record_of_the_slots
            everybody_sees_the_same_time_of_day
        }
        history {
            what_is_added_all_see_in_order
            no_more_events_are_kept_than_the_retention_allows
            what_several_add_at_a_time_is_all_there
        }
        many_clients {
            contenders_exclude_each_other
            waiters_are_all_served
        }
    }
}

use std::{sync::OnceLock, time::Duration};

use tenure_core::{Store, store::Severity};
use tenure_servers::PgBouncer;

use crate::{
    counter,
    support::{
        PATIENCE, fresh_database, hold, name, quiet_server, sql, store, tenure, tries, until,
        version, waiting,
    },
};

/// One that lets no settings through, as it comes.
pub(crate) fn pooler() -> &'static PgBouncer {
    static POOLER: OnceLock<PgBouncer> = OnceLock::new();
    POOLER.get_or_init(|| PgBouncer::start(quiet_server(), 8, &[]))
}

/// One that takes them and forgets them.
pub(crate) fn forgetful() -> &'static PgBouncer {
    static POOLER: OnceLock<PgBouncer> = OnceLock::new();
    let lines = ["ignore_startup_parameters = extra_float_digits,options"];
    POOLER.get_or_init(|| PgBouncer::start(quiet_server(), 3, &lines))
}

/// The same database by way of a pooler.
fn behind(pooler: &PgBouncer, url: &str) -> String {
    pooler.url_of(url.rsplit('/').next().unwrap())
}

#[tokio::test]
async fn waiters_get_their_turn_where_no_message_comes_and_the_doctor_says_so() {
    for pooler in [pooler(), forgetful()] {
        let url = behind(pooler, &fresh_database().await);
        let (one, other) = (tenure(&url), tenure(&url));
        let held = hold(&one, "lock", Duration::from_secs(10)).await;
        let waits = tokio::spawn(async move {
            let guard = hold(&other, "lock", Duration::from_secs(10)).await;
            let heard = guard.token();
            guard.release().await.unwrap();
            heard
        });
        until("it waits", async || waiting(&one, "lock").await == 1).await;
        let token = held.token();
        held.release().await.unwrap();
        let began = std::time::Instant::now();
        assert!(tokio::time::timeout(PATIENCE, waits).await.unwrap().unwrap() > token);
        // It looks ten times a second.
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
        let seen = one.store().health().await.unwrap();
        let messages = seen.iter().find(|diagnostic| diagnostic.what == "messages").unwrap();
        assert_eq!(messages.severity, Severity::Warning, "{messages:?}");
        assert!(messages.help.as_ref().unwrap().contains("directly to the server"), "{messages:?}");
        assert!(seen[0].found.contains("by a pooler"), "{:?}", seen[0]);
    }
}

/// Each session of the server is given to one after the other, so what one has prepared there another one's
/// statement could be taken for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_that_share_the_sessions_of_a_pooler_run_none_of_each_others_statements() {
    for pooler in [pooler(), forgetful()] {
        let direct = fresh_database().await;
        counter::create(&direct).await;
        let url = behind(pooler, &direct);
        let mut tasks = Vec::new();
        for schema in ["one", "other", "third"] {
            let (schema, url) = (schema.to_owned(), url.clone());
            tasks.push(tokio::spawn(async move {
                let tenure = tenure(&format!("{url}?lock_schema={schema}"));
                for round in 0..15 {
                    let guard = hold(&tenure, &schema, Duration::from_secs(5)).await;
                    let read =
                        tenure.rwlock(format!("read {schema} {round}")).read().await.unwrap();
                    read.release().await.unwrap();
                    guard.release().await.unwrap();
                }
            }));
        }
        for _ in 0..3 {
            let (url, direct) = (url.clone(), direct.clone());
            tasks.push(tokio::spawn(async move {
                counter::count(&tenure(&url), "count", &direct, 5).await;
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        counter::has_counted(&direct, 15).await;
        for schema in ["one", "other", "third"] {
            let strange =
                format!("select name from {schema}.locks where name not like '%{schema}%'");
            assert!(sql(&direct, &strange).await.is_empty(), "{schema} has what others asked for");
        }
        let prepared = sql(&url, "select name from pg_prepared_statements").await;
        assert!(prepared.iter().all(|name| !name.starts_with('s')), "{prepared:?}");
    }
}

#[tokio::test]
async fn a_database_that_puts_off_commits_is_used_behind_a_pooler_and_nobodys_session_is_changed() {
    for pooler in [pooler(), forgetful()] {
        let direct = fresh_database().await;
        let database = direct.rsplit('/').next().unwrap();
        sql(&direct, &format!("alter database {database} set synchronous_commit = off")).await;
        let url = behind(pooler, &direct);
        hold(&tenure(&url), "lock", Duration::from_secs(5)).await.release().await.unwrap();
        let settings = "select setting from pg_settings where name in \
                        ('client_connection_check_interval', 'lock_timeout', 'synchronous_commit') order by name";
        let mut expected = vec!["0", "0", "off"];
        // PostgreSQL 13 has no `client_connection_check_interval`.
        if version(&direct).await < 14 {
            expected.remove(0);
        }
        assert_eq!(sql(&url, settings).await, expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_of_many_calls_at_a_time_gets_its_own_answer_behind_a_pooler() {
    let url = behind(forgetful(), &fresh_database().await);
    let url = format!("{url}?connections=1&listen=no");
    let stores = [store(&url), store(&url), store(&url), store(&url)];
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..400 {
        let store = stores[number % 4].clone();
        tasks.spawn(async move {
            let lock = name(&format!("lock {number}"));
            let owner = tenure_core::Owner::from_bytes([u8::try_from(number % 250).unwrap(); 16]);
            let ask = tenure_core::proto::queue::Ask {
                owner,
                label: format!("{number}").into(),
                ..tries(1)
            };
            store.acquire(&lock, &ask).await.unwrap();
            for round in 0..3 {
                // Some are not waited for.
                if (number + round) % 7 == 0 {
                    let _ = tokio::time::timeout(Duration::from_micros(500), store.inspect(&lock))
                        .await;
                }
                let seen = store.inspect(&lock).await.unwrap();
                assert_eq!(seen.holders[0].label, ask.label, "an answer to somebody else");
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
}
