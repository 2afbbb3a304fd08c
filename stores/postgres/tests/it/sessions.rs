//! What a database or a role says of its sessions, and what its collation makes of names.

use std::time::{Duration, Instant};

use tenure_core::{AcquireError, FaultKind, Store};
use tenure_postgres::PostgresStore;

use crate::support::{
    PATIENCE, database_with, fresh_database, hold, is_at_least, name, quiet_server, session, sql,
    store, tenure, told, tries,
};

/// What each session of a database gets.
async fn set(url: &str, setting: &str) {
    let database = url.rsplit('/').next().unwrap();
    // Not from within, where it may be in force.
    sql(&quiet_server().url(), &format!("alter database {database} set {setting}")).await;
}

#[tokio::test]
async fn a_lease_depends_on_no_time_zone() {
    let url = fresh_database().await;
    let one = tenure(&url);
    let held = hold(&one, "lock", Duration::from_secs(60)).await;
    for zone in ["Pacific/Kiritimati", "America/St_Johns", "Etc/GMT+12"] {
        set(&url, &format!("timezone = '{zone}'")).await;
        let other = tenure(&url);
        assert!(other.mutex("lock").try_lock().await.unwrap().is_none(), "{zone}");
        let next = hold(&other, zone, Duration::from_secs(60)).await;
        assert!(next.token() > held.token());
        // Within a minute of our own clock.
        let apart = sql(&url, &format!("select abs(extract(epoch from since - now()))::int from tenure.holders where name = '{zone}'")).await;
        assert!(apart[0].parse::<u32>().unwrap() < 60, "{apart:?}");
    }
    assert!(
        one.store()
            .health()
            .await
            .unwrap()
            .iter()
            .all(|diagnostic| diagnostic.what != "clock" || diagnostic.help.is_none())
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_work_at_any_isolation_level() {
    for (level, settings) in [("serializable", ""), ("repeatable read", "?listen=no")] {
        let url = fresh_database().await;
        set(&url, &format!("default_transaction_isolation = '{level}'")).await;
        crate::counter::create(&url).await;
        let own = format!("{url}{settings}");
        let tasks: Vec<_> = (0..4)
            .map(|_| {
                let (own, url) = (own.clone(), url.clone());
                tokio::spawn(
                    async move { crate::counter::count(&tenure(&own), "count", &url, 5).await },
                )
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        crate::counter::has_counted(&url, 20).await;
    }
}

#[tokio::test]
async fn transactions_that_are_read_only_are_refused_with_the_reason() {
    let url = fresh_database().await;
    set(&url, "default_transaction_read_only = on").await;
    let fault = PostgresStore::open(&url).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unreachable, "{fault:#}");
    assert!(format!("{fault:#}").contains("takes no writes"), "{fault:#}");
    let writes = session(&url).await.unwrap();
    told(&writes, "set default_transaction_read_only = off").await.unwrap();
    told(&writes, &tenure_postgres::schema("tenure").unwrap()).await.unwrap();
    let refused = tenure(&url).mutex("lock").try_lock().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Unreachable { .. }), "{refused:#}");
    assert!(format!("{refused:#}").contains("read-only"), "{refused:#}");
    set(&url, "default_transaction_read_only = off").await;
    assert!(tenure(&url).mutex("lock").try_lock().await.unwrap().is_some());
}

#[tokio::test]
async fn what_our_sessions_commit_is_on_disk_whatever_the_database_says() {
    let url = fresh_database().await;
    set(&url, "synchronous_commit = off").await;
    let store = store(&url);
    let seen = store.health().await.unwrap();
    let kept = seen.iter().find(|diagnostic| diagnostic.what == "persistence").unwrap();
    assert!(kept.found.contains("synchronous_commit is on"), "{kept:?}");
}

#[tokio::test]
async fn a_database_that_is_not_utf8_is_refused() {
    let url = database_with("encoding 'SQL_ASCII'").await;
    let fault = PostgresStore::open(&url).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    assert!(format!("{fault:#}").contains("SQL_ASCII"), "{fault:#}");
}

#[tokio::test]
async fn names_are_compared_byte_by_byte_whatever_the_collation() {
    let server = fresh_database().await;
    if !is_at_least(15, &server, "a database whose collation takes a for A").await {
        return;
    }
    let url =
        database_with("locale_provider icu icu_locale 'und-u-ks-level1-ka-shifted' locale 'C'")
            .await;
    let store = store(&url);
    let long = "é".repeat(256);
    let names = [
        "a",
        "A",
        "á",
        "a ",
        " a",
        "a\u{301}",
        "%",
        "_",
        "a%",
        "a_b",
        "a\\b",
        "axb",
        "\\",
        "🦀",
        "🦀\u{fe0f}",
        "straße",
        "strasse",
        "'; drop table tenure.locks; --",
        &long,
    ];
    for (number, lock) in names.iter().enumerate() {
        let owner = u8::try_from(number).unwrap() + 1;
        let answer = store.acquire(&name(lock), &tries(owner)).await.unwrap();
        assert!(
            matches!(answer, tenure_core::proto::queue::Answer::Granted { .. }),
            "{lock:?}: {answer:?}"
        );
    }
    for prefix in ["", "a", "A", "a%", "a_", "a\\", "%", "_", "\\", "🦀", "é", "á", "stra"] {
        let mut expected: Vec<_> = names
            .iter()
            .filter(|name| name.starts_with(prefix))
            .map(|name| (*name).to_owned())
            .collect();
        expected.sort();
        let listed = store.list(prefix, 100).await.unwrap();
        let found: Vec<_> = listed.names.iter().map(|(name, _)| name.as_str().to_owned()).collect();
        assert_eq!(found, expected, "{prefix:?}");
    }
    let together: Vec<_> = ["b", "B", "b "]
        .into_iter()
        .zip([101, 102, 103])
        .map(|(lock, owner)| (name(lock), tries(owner)))
        .collect();
    let granted = store.acquire_together(&together).await.unwrap();
    assert!(
        matches!(granted, tenure_core::proto::queue::Together::Granted(tokens) if tokens.len() == 3)
    );
}

#[tokio::test]
async fn a_database_that_is_not_there_is_an_error_at_once() {
    let url = format!("{}_not_there", fresh_database().await);
    let began = Instant::now();
    let failed = tenure(&url).mutex("lock").lock().wait(PATIENCE).await.unwrap_err();
    assert!(matches!(failed, AcquireError::Misconfigured { .. }), "{failed}");
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_make_the_tables_at_the_same_time_all_find_them() {
    for _ in 0..5 {
        let url = fresh_database().await;
        let opened = (0..8).map(|_| {
            let url = url.clone();
            tokio::spawn(async move { PostgresStore::open(&url).await.map(drop) })
        });
        for opened in opened.collect::<Vec<_>>() {
            opened.await.unwrap().unwrap();
        }
    }
}
