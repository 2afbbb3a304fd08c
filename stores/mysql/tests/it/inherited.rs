//! What a session inherits of the server's settings changes nothing of what is promised.

use std::{collections::BTreeMap, time::Duration};

use mysql_async::{Conn, prelude::Queryable};
use tenure_core::{
    FaultKind, Store,
    proto::queue::{Answer, Intent, Mode, Together},
    store::Renewal,
};
use tenure_mysql::MysqlStore;
use tenure_servers::MariadbServer;

use crate::support::{LONG, ask, name, outside, owner, run, take, until};

/// All settings of sessions that Debian's MariaDB and MySQL have, each with what is made of it.
const JUDGED: &str = include_str!("inherited.txt");

/// What a server may be set to, and what a session may be told as it begins, at its worst.
const OF_SERVER: &[&str] = &[
    "completion_type = 1",
    "completion_type = 2",
    "sql_safe_updates = 1",
    "max_join_size = 1",
    "sql_select_limit = 1",
    "group_concat_max_len = 4",
    "max_sort_length = 64",
    "sql_mode = ''",
    "sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,PIPES_AS_CONCAT,IGNORE_SPACE,HIGH_NOT_PRECEDENCE'",
    "transaction_isolation = 'SERIALIZABLE'",
    "transaction_isolation = 'READ-UNCOMMITTED'",
    "lock_wait_timeout = 1",
    "innodb_lock_wait_timeout = 100",
    "time_zone = '+07:00'",
    "autocommit = 0",
    "sql_big_selects = 0",
    "sql_buffer_result = 1",
    "low_priority_updates = 1",
    "div_precision_increment = 0",
    "max_error_count = 0",
    "default_week_format = 7",
    "optimizer_search_depth = 1",
    "optimizer_prune_level = 0",
    "eq_range_index_dive_limit = 1",
    "session_track_schema = 0",
    "net_read_timeout = 1",
    "net_write_timeout = 1",
    "wait_timeout = 1",
    "interactive_timeout = 1",
    "foreign_key_checks = 0",
    "unique_checks = 0",
    "sql_auto_is_null = 1",
    "max_execution_time = 1",
    "range_optimizer_max_mem_size = 1",
    "max_statement_time = 0.0001",
    "in_predicate_conversion_threshold = 1",
    "optimizer_max_sel_arg_weight = 1",
    "old_mode = 'NO_DUP_KEY_WARNINGS_WITH_IGNORE,ZERO_DATE_TIME_CAST'",
    "enforce_storage_engine = 'InnoDB'",
    "default_storage_engine = 'MyISAM'",
    "innodb_snapshot_isolation = 1",
    "use_stat_tables = 'NEVER'",
    "optimizer_use_condition_selectivity = 1",
    "sql_require_primary_key = 1",
    "explicit_defaults_for_timestamp = 0",
    "character_set_server = 'latin1'",
    "idle_transaction_timeout = 1",
];
const OF_SESSION: &[&str] = &[
    "timestamp = 86400",
    "timestamp = 2147000000",
    "insert_id = 7",
    "last_insert_id = 7",
    "rand_seed1 = 1, rand_seed2 = 1",
    "autocommit = 0",
    "completion_type = 1",
    "sql_select_limit = 0",
    "character_set_connection = latin1",
];

/// A user whom `init_connect` does not pass over.
async fn user(server: &MariadbServer) -> String {
    let mut conn = outside(server).await;
    run(&mut conn, "create user if not exists locks identified by 'secret'").await;
    run(&mut conn, "grant all on *.* to locks").await;
    run(&mut conn, "grant all on tenure.* to locks").await;
    let revoked = if server.is_mysql() {
        "revoke connection_admin, super on *.* from locks"
    } else {
        "revoke connection admin, super on *.* from locks"
    };
    run(&mut conn, revoked).await;
    format!("{}?get_server_public_key=yes", server.url().replace("root@", "locks:secret@"))
}

/// What it has set. None where this server has no such setting.
async fn set(conn: &mut Conn, setting: &str) -> bool {
    let mariadb = setting.replace("transaction_isolation", "tx_isolation");
    let done = [setting, &mariadb].map(|setting| format!("set global {setting}"));
    for statement in done {
        match conn.query_drop(&statement).await {
            Ok(()) => return true,
            Err(mysql_async::Error::Server(said)) if said.code == 1193 => {}
            Err(error) => panic!("{statement}: {error:#}"),
        }
    }
    false
}

/// What is in a table by the account of a session that sees what is committed alone.
async fn count(conn: &mut Conn, tables: &str, rows: &str) -> i64 {
    let count = format!("select count(*) from {tables}_locks where {rows}");
    conn.query_first(count).await.unwrap().unwrap()
}

/// All that a store does. What it says is so is so for everybody else as well.
async fn all_works(url: &str, conn: &mut Conn, tables: &str, how: &str) {
    let url = format!("{url}&tables={tables}&response_timeout=4s");
    let opened = MysqlStore::open(&url).await;
    let one = opened.unwrap_or_else(|fault| panic!("{how}: {fault:#}"));
    let other = MysqlStore::open(&url).await.unwrap();
    let both = ["a", "b"].map(|text| (name(text), ask(owner(1), Intent::Try, LONG)));
    let granted = one.acquire_together(&both).await.unwrap();
    assert!(matches!(granted, Together::Granted(_)), "{how}: {granted:?}");
    assert_eq!(count(conn, tables, "owner is not null").await, 2, "{how}");
    // The session that granted these goes on.
    for text in ["c", "d", "e"] {
        take(&one, text, owner(1)).await;
        let asked = other.acquire(&name(text), &ask(owner(2), Intent::Try, LONG)).await.unwrap();
        assert!(matches!(asked, Answer::Busy { .. }), "{how}: two hold {text}");
    }
    assert_eq!(count(conn, tables, "owner is not null").await, 5, "{how}");
    let renewals = ["a", "b", "c", "d", "e"].map(|text| Renewal {
        name: name(text),
        owner: owner(1),
        ttl: LONG,
    });
    for renewed in one.renew(&renewals).await {
        assert!(format!("{renewed:?}").contains("Renewed"), "{how}: {renewed:?}");
    }
    assert_eq!(other.list("", 100).await.unwrap().names.len(), 5, "{how}");
    assert_eq!(other.list("", 3).await.unwrap().names.len(), 3, "{how}");
    for text in ["a", "b", "c"] {
        one.release(&name(text), &owner(1), Duration::ZERO).await.unwrap();
    }
    assert_eq!(count(conn, tables, "owner is not null").await, 2, "{how}");
    assert_eq!(other.evict(&name("d")).await.unwrap().len(), 1, "{how}");
    let mut reads = ask(owner(3), Intent::Try, LONG);
    reads.mode = Mode::Shared;
    for reader in [3, 4] {
        reads.owner = owner(reader);
        let answer = one.acquire(&name("f"), &reads).await.unwrap();
        assert!(matches!(answer, Answer::Granted { .. }), "{how}: {answer:?}");
    }
    tokio::time::sleep(Duration::from_millis(5)).await;
    let long_ago = format!("update {tables}_meta set raised = 0");
    // The store sweeps by itself, too, and may raise the floor meanwhile.
    let floor = format!("select floor > 0 from {tables}_meta");
    until(&format!("{how}: the floor is raised"), async || {
        run(conn, &long_ago).await;
        one.sweep(Duration::from_millis(1)).await.unwrap();
        conn.query_first::<bool, _>(&floor).await.unwrap() == Some(true)
    })
    .await;
    until(&format!("{how}: names that nobody uses are gone"), async || {
        run(conn, &long_ago).await;
        one.sweep(Duration::from_millis(1)).await.unwrap();
        count(conn, tables, "name in (x'61', x'62')").await == 0
    })
    .await;
    let found = one.health().await.unwrap();
    assert!(
        found.iter().all(|diagnostic| diagnostic.what != "full cycle" || diagnostic.help.is_none())
    );
    one.incarnation().await.unwrap();
    // An end that is near comes.
    let short = ask(owner(5), Intent::Try, Duration::from_millis(200));
    one.acquire(&name("short"), &short).await.unwrap();
    until("a lease ends", async || {
        let asked = ask(owner(6), Intent::Try, LONG);
        let answer = other.acquire(&name("short"), &asked).await.unwrap();
        matches!(answer, Answer::Granted { .. })
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_a_server_has_by_default_changes_nothing() {
    let server = MariadbServer::start();
    let url = user(&server).await;
    // It keeps what it begins with.
    let mut conn = outside(&server).await;
    run(&mut conn, "set autocommit = 1, wait_timeout = 28800").await;
    for (number, setting) in OF_SERVER.iter().enumerate() {
        if !set(&mut conn, setting).await {
            continue;
        }
        all_works(&url, &mut conn, &format!("of_server_{number}"), setting).await;
        let variable = setting.split(' ').next().unwrap();
        let back = if variable == "autocommit" {
            "autocommit = 1"
        } else {
            &format!("{variable} = default")
        };
        assert!(set(&mut conn, back).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_a_session_is_told_as_it_begins_changes_nothing() {
    let server = MariadbServer::start();
    let url = user(&server).await;
    let mut conn = outside(&server).await;
    for (number, told) in OF_SESSION.iter().enumerate() {
        run(&mut conn, &format!("set global init_connect = \"set {told}\"")).await;
        all_works(&url, &mut conn, &format!("of_session_{number}"), told).await;
    }
}

/// What replicas are not told is not held by anybody once one of them takes over.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_writes_past_the_log_is_refused() {
    let server = MariadbServer::start_with(&["--log-bin=log", "--server-id=1"]);
    let url = user(&server).await;
    let mut conn = outside(&server).await;
    run(&mut conn, "set global init_connect = \"set sql_log_bin = 0\"").await;
    let fault = MysqlStore::open(&url).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    assert!(format!("{fault:#}").contains("sql_log_bin"), "{fault:#}");
}

/// What the server is asked, and what it answers for.
async fn settings_of(conn: &mut Conn, is_mysql: bool) -> Vec<String> {
    let all = if is_mysql {
        "select lower(variable_name) from performance_schema.variables_metadata where variable_scope <> 'GLOBAL'"
    } else {
        "select lower(variable_name) from information_schema.system_variables where variable_scope <> 'GLOBAL'"
    };
    conn.query(all).await.unwrap()
}

/// Each line of `inherited.txt` has a setting and what is made of it.
fn judged() -> BTreeMap<&'static str, &'static str> {
    let lines = JUDGED.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| line.split_once(": ").unwrap_or_else(|| panic!("{line:?}"))).collect()
}

/// The versions that the list was made by: there none may be unknown. Others are told of.
const COMPLETE: [&str; 2] = ["10.11.", "9.7."];

#[tokio::test(flavor = "multi_thread")]
async fn no_setting_of_a_session_is_unknown() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    let version: String = conn.query_first("select version()").await.unwrap().unwrap();
    let judged = judged();
    let all = settings_of(&mut conn, server.is_mysql()).await;
    assert!(all.len() > 100, "{all:?}");
    let unknown: Vec<_> =
        all.into_iter().filter(|setting| !judged.contains_key(setting.as_str())).collect();
    if COMPLETE.iter().any(|complete| version.starts_with(complete)) {
        assert!(unknown.is_empty(), "of {version}: {unknown:?}");
    } else {
        println!("{version} has settings that nobody has judged: {unknown:?}");
    }
}

/// The page has a line for each that matters.
#[test]
fn the_page_says_what_is_set_and_what_is_checked() {
    let page = include_str!("../../../../docs/stores/mysql.md");
    for (setting, judgement) in judged() {
        let matters = judgement.starts_with("set") || judgement.starts_with("checked");
        assert!(!matters || page.contains(&format!("`{setting}`")), "{setting}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_may_not_write_is_told_why() {
    let server = MariadbServer::start();
    let url = user(&server).await;
    let mut conn = outside(&server).await;
    let opened = MysqlStore::open(&url).await.unwrap();
    take(&opened, "lock", owner(1)).await;
    let setting = if server.is_mysql() { "transaction_read_only" } else { "tx_read_only" };
    run(&mut conn, &format!("set global {setting} = 1")).await;
    let refused = MysqlStore::open(&url).await.unwrap();
    let fault = refused.acquire(&name("other"), &ask(owner(2), Intent::Try, LONG)).await;
    let fault = fault.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unreachable, "{fault:#}");
    assert!(format!("{fault:#}").contains("transactions are read-only"), "{fault:#}");
}
