//! What others who share the sessions of a pooler set there.

use std::time::Duration;

use tenure_core::{AcquireError, FaultKind, Store};
use tenure_servers::{PgBouncer, PostgresServer};

use crate::{
    counter,
    support::{fresh_database, hold, name, quiet_server, session, sql, store, tenure, told, tries},
};

/// A pooler with a single session, so that whoever comes next has what was set before.
fn one_session(server: &PostgresServer) -> PgBouncer {
    PgBouncer::start(server, 1, &[])
}

fn behind(pooler: &PgBouncer, url: &str) -> String {
    format!("{}?listen=no", pooler.url_of(url.rsplit('/').next().unwrap()))
}

/// The server writes what is committed so to disk after seconds at the earliest, unless somebody is told to wait.
#[tokio::test]
async fn what_is_granted_survives_a_crash_although_another_client_of_the_pooler_puts_off_commits() {
    let mut server = PostgresServer::with(&["wal_writer_delay=10s", "shared_buffers=16MB"]);
    let pooler = one_session(&server);
    let url = behind(&pooler, &server.url());
    let tenure = tenure(&url);
    hold(&tenure, "before", Duration::from_secs(60)).await.release().await.unwrap();
    sql(&url, "set synchronous_commit = off").await;
    let mut guards = Vec::new();
    for number in 0..20 {
        guards.push(hold(&tenure, &format!("lock {number}"), Duration::from_secs(60)).await);
    }
    // It is set there still.
    assert_eq!(sql(&url, "show synchronous_commit").await, ["off"]);
    server.kill();
    server.restart();
    let again = store(&server.url());
    for number in 0..20_u8 {
        let seen = again.inspect(&name(&format!("lock {number}"))).await.unwrap();
        assert_eq!(seen.holders.len(), 1, "lock {number} was granted, and is free after a crash");
    }
}

#[tokio::test]
async fn a_statement_does_not_wait_for_long_although_another_client_of_the_pooler_allows_it() {
    let direct = fresh_database().await;
    let pooler = one_session(quiet_server());
    let url = behind(&pooler, &direct);
    let store = store(&format!("{url}&response_timeout=30s"));
    store.acquire(&name("lock"), &tries(1)).await.unwrap();
    sql(&url, "set lock_timeout = 0; set statement_timeout = 0").await;
    let stranger = session(&direct).await.unwrap();
    told(&stranger, "begin; select 1 from tenure.locks for update").await.unwrap();
    let began = std::time::Instant::now();
    let (lock, owner) = (name("lock"), tries(1).owner);
    let release = store.release(&lock, &owner, Duration::ZERO);
    let released = tokio::time::timeout(Duration::from_secs(20), release).await;
    assert!(released.unwrap().is_err(), "it is locked");
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

/// None of these keeps a grant from being one, or lets in a second: counting is exact, or fails and says why.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_others_set_in_the_sessions_of_a_pooler_nobody_counts_twice() {
    for set in [
        "set default_transaction_isolation = 'serializable'",
        "set default_transaction_isolation = 'repeatable read'",
        "set session_replication_role = replica",
        "set client_min_messages = error",
        "set search_path = odd, pg_catalog",
        "set statement_timeout = 0; set lock_timeout = 0",
        "set timezone = 'Asia/Kathmandu'; set datestyle = 'German'; set bytea_output = escape",
        "set standard_conforming_strings = off; set transform_null_equals = on; set array_nulls = off",
        "set row_security = off; set enable_indexscan = off; set plan_cache_mode = force_generic_plan",
    ] {
        let direct = fresh_database().await;
        let odd = "create schema odd; \
                   create function odd.clock_timestamp() returns timestamptz language sql as \
                   'select timestamptz ''2001-01-01''; '; \
                   create function odd.encode(bytea, text) returns text language sql as 'select ''odd''; ';";
        sql(&direct, odd).await;
        counter::create(&direct).await;
        let pooler = PgBouncer::start(quiet_server(), 3, &[]);
        let url = behind(&pooler, &direct);
        for _ in 0..6 {
            sql(&url, set).await;
        }
        let mut tasks = Vec::new();
        for url in [&url, &url, &direct] {
            let (url, direct) = (url.clone(), direct.clone());
            tasks.push(tokio::spawn(async move {
                counter::count(&tenure(&url), "count", &direct, 5).await;
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        counter::has_counted(&direct, 15).await;
    }
}

#[tokio::test]
async fn what_others_forbid_in_the_sessions_of_a_pooler_is_said() {
    let direct = fresh_database().await;
    let pooler = one_session(quiet_server());
    let url = behind(&pooler, &direct);
    let tenure = tenure(&url);
    hold(&tenure, "lock", Duration::from_secs(5)).await.release().await.unwrap();
    sql(&url, "set default_transaction_read_only = on").await;
    let refused = tenure.mutex("lock").try_lock().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Unreachable { .. }), "{refused:#}");
    assert!(format!("{refused:#}").contains("read-only"), "{refused:#}");
    sql(&url, "set default_transaction_read_only = off").await;
    let role = format!("nobody_in_{}", direct.rsplit('/').next().unwrap());
    sql(&direct, &format!("create role {role}")).await;
    sql(&url, &format!("set role {role}")).await;
    let refused = store(&url).acquire(&name("lock"), &tries(1)).await.unwrap_err();
    assert_eq!(refused.kind(), FaultKind::Misconfigured, "{refused:#}");
    sql(&url, "reset role").await;
    hold(&tenure, "lock", Duration::from_secs(5)).await.release().await.unwrap();
}
