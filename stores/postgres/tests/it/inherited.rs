//! What a session inherits from its role or its database changes nothing of what is promised.

use std::{collections::BTreeMap, time::Duration};

use tenure_core::{
    Store,
    proto::queue::{Answer, Together},
    store::Renewal,
};
use tenure_postgres::{Fence, FenceError, NextSweep, PostgresStore};
use tenure_servers::PostgresServer;

use crate::support::{
    fresh_database, is_at_least, name, quiet_server, session, sql, told, tries, until, version,
};

/// All settings that a session of Debian's PostgreSQL may change, each with what is made of it.
const JUDGED: &str = include_str!("inherited.txt");

/// What a database may be set to, at its worst.
const OF_DATABASE: &[&str] = &[
    "default_transaction_isolation = 'serializable'",
    "default_transaction_deferrable = on",
    "synchronous_commit = off",
    "synchronous_commit = local",
    "statement_timeout = 1",
    "lock_timeout = 1",
    "idle_in_transaction_session_timeout = 1",
    "idle_session_timeout = '300ms'",
    "search_path = ''",
    "search_path = 'public'",
    "client_encoding = 'LATIN1'",
    "datestyle = 'German, DMY'",
    "intervalstyle = 'sql_standard'",
    "timezone = 'Asia/Kathmandu'",
    "bytea_output = 'escape'",
    "standard_conforming_strings = off",
    "backslash_quote = off",
    "client_min_messages = 'debug5'",
    "transform_null_equals = on",
    "array_nulls = off",
    "quote_all_identifiers = on",
    "extra_float_digits = -15",
    "plan_cache_mode = 'force_generic_plan'",
    "plan_cache_mode = 'force_custom_plan'",
    "jit = on",
    "force_parallel_mode = on",
    "enable_indexscan = off",
    "enable_bitmapscan = off",
    "enable_nestloop = off",
    "enable_material = off",
    "row_security = off",
    "exit_on_error = on",
    "work_mem = '64kB'",
    "default_table_access_method = 'heap'",
    "from_collapse_limit = 1",
    "join_collapse_limit = 1",
    "constraint_exclusion = on",
    "lc_numeric = 'C'",
    "check_function_bodies = off",
    "default_statistics_target = 1",
    "jit_above_cost = 0",
    "xmlbinary = 'hex'",
];

/// What each session of a database gets.
async fn set(url: &str, setting: &str) {
    let (server, database) = (quiet_server().url(), url.rsplit('/').next().unwrap());
    let version = version(&server).await;
    if setting.starts_with("idle_session_timeout")
        && !is_at_least(14, &server, "idle_session_timeout").await
    {
        return;
    }
    // It has another name from PostgreSQL 16 on.
    let (old, new) = ("force_parallel_mode", "debug_parallel_query");
    let setting = if version < 16 { setting.to_owned() } else { setting.replace(old, new) };
    sql(&server, &format!("alter database {database} set {setting}")).await;
}

/// All that a store does. What it says is so is so for everybody else as well.
pub(crate) async fn all_works(url: &str, how: &str) {
    let opened = PostgresStore::open(url).await;
    let one = opened.unwrap_or_else(|fault| panic!("{how}: {fault:#}"));
    let other = PostgresStore::open(url).await.unwrap();
    let both = ["é", "e\u{301}"].map(|text| (name(text), tries(1)));
    let granted = one.acquire_together(&both).await.unwrap();
    assert!(matches!(granted, Together::Granted(_)), "{how}: {granted:?}");
    for text in ["c", "d", "😀"] {
        let mut ask = tries(1);
        ask.label = "Zoë 😀".into();
        let answer = one.acquire(&name(text), &ask).await.unwrap();
        assert!(matches!(answer, Answer::Granted { .. }), "{how}: {answer:?}");
        let answer = other.acquire(&name(text), &tries(2)).await.unwrap();
        assert!(matches!(answer, Answer::Busy { .. }), "{how}: two hold {text}");
        let seen = other.inspect(&name(text)).await.unwrap();
        assert_eq!(seen.holders[0].label, ask.label, "{how}");
    }
    let ttl = Duration::from_secs(60);
    let renewals = ["é", "e\u{301}", "c", "d", "😀"].map(|text| Renewal {
        name: name(text),
        owner: tries(1).owner,
        ttl,
    });
    for renewed in one.renew(&renewals).await {
        assert!(format!("{renewed:?}").contains("Renewed"), "{how}: {renewed:?}");
    }
    assert_eq!(other.list("", 100).await.unwrap().names.len(), 5, "{how}");
    for text in ["é", "e\u{301}", "c"] {
        one.release(&name(text), &tries(1).owner, Duration::ZERO).await.unwrap();
    }
    assert_eq!(other.evict(&name("d")).await.unwrap().len(), 1, "{how}");
    let swept = one.sweep(Duration::from_millis(1)).await.unwrap();
    assert_eq!(swept.then, NextSweep::Later, "{how}: the floor was raised");
    for diagnostic in one.health().await.unwrap() {
        assert_ne!(diagnostic.what, "full cycle", "{how}: {diagnostic:?}");
    }
    let mut short = tries(5);
    short.ttl = Duration::from_millis(200);
    one.acquire(&name("short"), &short).await.unwrap();
    until("a lease ends", async || {
        let answer = other.acquire(&name("short"), &tries(6)).await.unwrap();
        matches!(answer, Answer::Granted { .. })
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_a_database_says_of_its_sessions_changes_nothing() {
    for setting in OF_DATABASE {
        let url = fresh_database().await;
        set(&url, setting).await;
        all_works(&url, setting).await;
    }
}

#[tokio::test]
async fn tables_are_kept_by_rows_whatever_others_are_kept_by() {
    let url = fresh_database().await;
    sql(&url, "create access method another type table handler heap_tableam_handler").await;
    set(&url, "default_table_access_method = another").await;
    PostgresStore::open(&url).await.unwrap();
    let kept = "select distinct amname from pg_class c join pg_am a on a.oid = c.relam \
                where relnamespace = 'tenure'::regnamespace and relkind = 'r'";
    assert_eq!(sql(&url, kept).await, ["heap"]);
}

#[tokio::test]
async fn a_memory_is_the_same_in_sessions_that_write_times_differently() {
    let server = PostgresServer::with(&["fsync=off"]);
    let url = server.url();
    let before = PostgresStore::open(&url).await.unwrap().incarnation().await.unwrap();
    for setting in ["timezone = 'Asia/Kathmandu'", "datestyle = 'German'"] {
        sql(&url, &format!("alter database tenure set {setting}")).await;
        let after = PostgresStore::open(&url).await.unwrap().incarnation().await.unwrap();
        assert_eq!(before, after, "{setting}");
    }
}

/// On a connection of the program's, for which tenure sets nothing.
#[tokio::test]
async fn a_fence_knows_a_name_whatever_sessions_of_the_program_are_told() {
    let url = fresh_database().await;
    let fence = Fence::new("public", "fence").unwrap();
    sql(&url, &fence.table()).await;
    let token = |number: i64| tenure_core::Token::from_raw(number.cast_unsigned()).unwrap();
    let may_write = async |told_before: &str, text: &str, number: i64| {
        let mut client = session(&url).await.unwrap();
        told(&client, told_before).await.unwrap();
        let is_let_in = |outcome| match outcome {
            Ok(()) => true,
            Err(FenceError::Stale { .. }) => false,
            Err(error) => panic!("{told_before}: {error:#}"),
        };
        let claimed = is_let_in(fence.claim(&client, &name(text), token(number)).await);
        let transaction = client.transaction().await.unwrap();
        let checked = is_let_in(fence.check(&transaction, &name(text), token(number)).await);
        transaction.rollback().await.unwrap();
        (claimed, checked)
    };
    let plain = "select 1";
    for told_before in [
        plain,
        "set client_encoding = 'LATIN1'",
        "set client_encoding = 'WIN1252'",
        "set client_encoding = 'SQL_ASCII'",
        "set search_path = ''",
        "set standard_conforming_strings = off",
        "set default_transaction_isolation = 'serializable'",
    ] {
        let text = format!("é{told_before}");
        assert_eq!(may_write(told_before, &text, 1).await, (true, true), "{told_before}");
        assert_eq!(may_write(plain, &text, 2).await, (true, true), "{told_before}");
        for late in [told_before, plain] {
            let late = may_write(late, &text, 1).await;
            assert_eq!(late, (false, false), "{told_before}: a late holder is let in");
        }
    }
}

/// Each line of `inherited.txt` has a setting and what is made of it.
fn judged() -> BTreeMap<&'static str, &'static str> {
    let lines = JUDGED.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| line.split_once(": ").unwrap_or_else(|| panic!("{line:?}"))).collect()
}

/// The version that the list was made by: there none may be unknown. Others are told of.
const COMPLETE: &str = "15.";

#[tokio::test]
async fn no_setting_of_a_session_is_unknown() {
    let url = quiet_server().url();
    let version = sql(&url, "show server_version").await.remove(0);
    let all = sql(&url, "select lower(name) from pg_settings where context = 'user'").await;
    assert!(all.len() > 100, "{all:?}");
    let judged = judged();
    let unknown: Vec<_> =
        all.into_iter().filter(|setting| !judged.contains_key(setting.as_str())).collect();
    if version.starts_with(COMPLETE) {
        assert!(unknown.is_empty(), "of {version}: {unknown:?}");
    } else {
        println!("{version} has settings that nobody has judged: {unknown:?}");
    }
}

/// The page has a line for each that matters.
#[test]
fn the_page_says_what_is_set_and_what_is_checked() {
    let page = include_str!("../../../../docs/stores/postgres.md");
    for (setting, judgement) in judged() {
        let matters = judgement.starts_with("set") || judgement.starts_with("checked");
        assert!(!matters || page.contains(&format!("`{setting}`")), "{setting}");
    }
}
