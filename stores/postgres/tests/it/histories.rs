//! The table of histories: where it is missing, where it is not ours, what goes from it, and what waits for it.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    Fault, FaultKind, Store,
    history::Retention,
    store::{HistoryWrite, Severity},
};
use tenure_postgres::PostgresStore;

use crate::{
    pooler::{forgetful, pooler},
    support::{fresh_database, name, session, sql, store, told, tries, until},
};

/// How long an event is kept here, unless a test waits for its end.
const KEPT: Duration = Duration::from_secs(3_600);
const TABLE: &str = "select pg_catalog.to_regclass('tenure.history') is not null";
const TEXTS: &str =
    "select name || ' ' || convert_from(event, 'UTF8') from tenure.history order by number";

fn write(texts: &[&str], most: u32, time: Duration) -> HistoryWrite {
    let events = texts.iter().map(|text| ((*text).to_owned(), Duration::ZERO)).collect();
    HistoryWrite { events, retention: Retention::new(most, time).unwrap() }
}

async fn add(store: &dyn Store, lock: &str, text: &str) -> Result<(), Fault> {
    store.add_history(&name(lock), &write(&[text], 100, KEPT)).await
}

async fn texts(store: &PostgresStore, lock: &str) -> Vec<String> {
    let told = store.read_history(&name(lock)).await.unwrap();
    told.events.into_iter().map(|event| event.text).collect()
}

async fn holds(store: &PostgresStore, lock: &str) {
    let owner = tries(1);
    store.acquire(&name(lock), &owner).await.unwrap();
    store.release(&name(lock), &owner.owner, Duration::ZERO).await.unwrap();
}

fn says(fault: &Fault, all: &[&str]) {
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    let said = format!("{fault:#}");
    for says in ["tenure.history", "tenure schema postgres --schema tenure", "locks work"] {
        assert!(said.contains(says), "{said}");
    }
    assert!(all.iter().all(|says| said.contains(says)), "{said}");
}

fn grants(printed: &str, role: &str) -> String {
    let grants = printed.lines().filter_map(|line| line.strip_prefix("-- grant"));
    grants.map(|line| format!("grant{};", line.replace("to app;", &format!("to {role}")))).collect()
}

/// A role that may use the tables as an earlier version made them, and make none.
async fn old_database() -> (String, String) {
    let url = fresh_database().await;
    let role = format!("role_of_{}", url.rsplit('/').next().unwrap());
    sql(&url, &format!("create role {role} login")).await;
    let printed = tenure_postgres::schema("tenure").unwrap();
    sql(&url, &printed).await;
    sql(&url, "drop table tenure.history").await;
    sql(&url, &grants(&printed, &role).replace("tenure.history", "tenure.locks")).await;
    (url.clone(), url.replacen("postgres@", &format!("{role}@"), 1))
}

#[tokio::test]
async fn where_the_table_is_missing_locks_work_and_a_write_says_what_to_run() {
    let (url, own) = old_database().await;
    let role = own.split(['/', '@']).nth(2).unwrap().to_owned();
    for (settings, how) in [("", "cannot create it"), ("?create=no", "does not exist")] {
        let store = PostgresStore::open(&format!("{own}{settings}")).await.unwrap();
        let bad = async || {
            let found = store.health().await.unwrap().into_iter();
            let bad = found.filter(|one| one.severity == Severity::Bad);
            bad.map(|one| one.what.to_string()).collect::<Vec<_>>()
        };
        let before = bad().await;
        says(&add(&store, "lock", "text").await.unwrap_err(), &[how]);
        let told = store.read_history(&name("lock")).await.unwrap();
        assert!(told.events.is_empty() && told.now > 1_700_000_000_000_000, "{told:?}");
        assert_eq!(bad().await, before);
        holds(&store, "lock").await;
        store.sweep(Duration::from_millis(1)).await.unwrap();
    }
    // Nor does whoever may make it by a look.
    assert!(texts(&store(&url), "lock").await.is_empty());
    assert_eq!(sql(&url, TABLE).await, ["f"]);
    let refused = PostgresStore::open(&own).await.unwrap();
    let fault = add(&refused, "lock", "text").await.unwrap_err();
    let store = PostgresStore::open(&own).await.unwrap();
    let printed = tenure_postgres::schema("tenure").unwrap();
    sql(&url, &printed).await;
    says(&add(&store, "lock", "text").await.unwrap_err(), &["lacks rights"]);
    says(&store.read_history(&name("lock")).await.unwrap_err(), &["lacks rights"]);
    sql(&url, &grants(&printed, &role)).await;
    add(&store, "lock", "text").await.unwrap();
    assert_eq!(texts(&store, "lock").await, ["text"]);
    // The refusal is remembered for a while, and nothing is asked meanwhile.
    let again = add(&refused, "lock", "text").await.unwrap_err();
    assert_eq!(format!("{again:#}"), format!("{fault:#}"));
}

/// Over connections that a pooler gives to others, too.
#[tokio::test]
async fn whoever_may_make_the_table_makes_it_when_something_is_first_added() {
    let url = fresh_database().await;
    let database = url.rsplit('/').next().unwrap();
    let ways = [url.clone(), pooler().url_of(database), forgetful().url_of(database)];
    for way in &ways {
        let stores = [store(way), store(way), store(way)];
        for store in &stores {
            holds(store, "lock").await;
        }
        sql(&url, "drop table tenure.history").await;
        let forbidden = store(&format!("{url}?create=no"));
        add(&forbidden, "a", "text").await.unwrap_err();
        assert_eq!(sql(&url, TABLE).await, ["f"], "{way}");
        let [one, two, three] = &stores;
        let locks = async {
            for number in 0..20 {
                holds(two, &format!("many {number}")).await;
            }
        };
        let (of_one, of_two, of_three, ()) =
            tokio::join!(add_surely(one, "a"), add_surely(two, "b"), add_surely(three, "c"), locks);
        for (lock, added) in [("a", of_one), ("b", of_two), ("c", of_three)] {
            added.unwrap();
            assert!(texts(three, lock).await.contains(&"text".to_owned()), "{way}: {lock}");
        }
    }
}

/// Behind a pooler a write is in doubt whose error does not come again, as another process made the table meanwhile.
async fn add_surely(store: &PostgresStore, lock: &str) -> Result<(), Fault> {
    match add(store, lock, "text").await {
        Err(fault) if fault.kind() == FaultKind::InDoubt => add(store, lock, "text").await,
        done => done,
    }
}

#[tokio::test]
async fn a_table_of_another_with_that_name_stays_as_it_is_and_locks_work_beside_it() {
    for theirs in [
        "table tenure.history (place text)",
        "table tenure.history (number serial, name text, at timestamptz, event text, kept_until timestamptz)",
        "table tenure.history (number int, name text, at bigint, event text, kept_until bigint)",
        "view tenure.history as select 1 as place",
        "type tenure.history as enum ('a')",
    ] {
        let url = fresh_database().await;
        sql(&url, &format!("create schema tenure; create {theirs}")).await;
        let columns = "select attname || atttypid from pg_attribute \
                       where attrelid = pg_catalog.to_regclass('tenure.history') order by attnum";
        let before = sql(&url, columns).await;
        let store = PostgresStore::open(&url).await.unwrap();
        holds(&store, "lock").await;
        let fault = add(&store, "lock", "text").await.unwrap_err();
        says(&fault, &["not one that tenure made"]);
        holds(&store, "lock").await;
        sql(&url, &tenure_postgres::schema("tenure").unwrap()).await;
        assert_eq!(sql(&url, columns).await, before, "{theirs}");
        if theirs.starts_with("table") {
            let rows = sql(&url, "select count(*) from tenure.history").await;
            assert_eq!(rows, ["0"], "{theirs}");
        }
    }
}

#[tokio::test]
async fn a_write_takes_away_the_events_of_other_names_whose_time_is_over_and_no_others() {
    let url = fresh_database().await;
    let store = store(&url);
    for lock in ["a", "b", "c", "own"] {
        add(&store, lock, "1").await.unwrap();
    }
    sql(&url, "update tenure.history set kept_until = 1 where name in ('a', 'b')").await;
    assert!(texts(&store, "a").await.is_empty());
    // It does not wait for a row that somebody has locked.
    let stranger = session(&url).await.unwrap();
    let locked = "begin; select 1 from tenure.history where name = 'b' for update";
    told(&stranger, locked).await.unwrap();
    add(&store, "own", "2").await.unwrap();
    assert_eq!(sql(&url, TEXTS).await, ["b 1", "c 1", "own 1", "own 2"]);
    told(&stranger, "rollback").await.unwrap();
    add(&store, "own", "3").await.unwrap();
    assert_eq!(sql(&url, TEXTS).await, ["c 1", "own 1", "own 2", "own 3"]);
    let many = "insert into tenure.history (name, at, event, kept_until) \
                select 'many ' || n, 1, '', n from generate_series(1, 40) n";
    sql(&url, many).await;
    add(&store, "own", "4").await.unwrap();
    let left = "select count(*) from tenure.history where name like 'many%'";
    assert_eq!(sql(&url, left).await, ["24"], "16 at a time");
}

/// Of names that are never used again nothing is left either.
#[tokio::test]
async fn nothing_is_left_once_the_time_is_over_and_something_else_is_written() {
    let url = fresh_database().await;
    let store = store(&url);
    for number in 0..20 {
        let events = write(&["began", "ended"], 10, Duration::from_secs(1));
        store.add_history(&name(&format!("once {number}")), &events).await.unwrap();
    }
    let left = "select count(*) from tenure.history where name <> 'last'";
    until("they are gone", async || {
        add(&store, "last", "text").await.unwrap();
        sql(&url, left).await == ["0"]
    })
    .await;
}

/// Nobody writes a history any more.
#[tokio::test]
async fn what_is_over_goes_while_any_program_uses_the_store() {
    let (url, own) = old_database().await;
    let [store, other] = [store(&url), store(&own)];
    assert!(!store.sweep_history().await.unwrap() && !other.sweep_history().await.unwrap());
    assert_eq!(sql(&url, TABLE).await, ["f"], "a sweep makes no table");
    add(&store, "kept", "stays").await.unwrap();
    let many = "insert into tenure.history (name, at, event, kept_until) \
                select 'over ' || n, 1, '', n from generate_series(1, 1200) n";
    sql(&url, many).await;
    assert!(!other.sweep_history().await.unwrap(), "it has no rights there");
    let stranger = session(&url).await.unwrap();
    let locked = "begin; select 1 from tenure.history where name = 'over 7' for update";
    told(&stranger, locked).await.unwrap();
    assert!(store.sweep_history().await.unwrap());
    let left = "select count(*) from tenure.history";
    assert_eq!(sql(&url, left).await, ["689"], "512 at a time");
    for number in 0..64 {
        holds(&store, &format!("new {number}")).await;
    }
    until("they go by themselves", async || sql(&url, left).await == ["2"]).await;
    told(&stranger, "rollback").await.unwrap();
    assert!(!store.sweep_history().await.unwrap());
    assert_eq!(sql(&url, TEXTS).await, ["kept stays"]);
    let theirs = "drop table tenure.history; create table tenure.history (kept_until bigint); \
                  insert into tenure.history values (1)";
    sql(&url, theirs).await;
    assert!(!store.sweep_history().await.unwrap());
    assert_eq!(sql(&url, left).await, ["1"], "that of another program stays as it is");
}

#[tokio::test]
async fn a_shorter_retention_holds_for_what_was_written_with_a_longer_one() {
    let url = fresh_database().await;
    let store = store(&url);
    let old = [("old", 7_200), ("hour", 1_800), ("new", 0)];
    let events = old.map(|(text, ago)| (text.to_owned(), Duration::from_secs(ago)));
    let long = Retention::new(100, Duration::from_secs(86_400)).unwrap();
    let events = HistoryWrite { events: events.to_vec(), retention: long };
    store.add_history(&name("lock"), &events).await.unwrap();
    add(&store, "other", "stays").await.unwrap();
    store.add_history(&name("lock"), &write(&["short"], 100, KEPT)).await.unwrap();
    assert_eq!(sql(&url, TEXTS).await, ["lock hour", "lock new", "other stays", "lock short"]);
    let ends = "select max(kept_until - at) from tenure.history where name = 'lock'";
    assert_eq!(sql(&url, ends).await, [KEPT.as_micros().to_string()]);
    // So does a smaller number. One that somebody has locked goes by a later write.
    let stranger = session(&url).await.unwrap();
    let locked = "begin; select 1 from tenure.history where event = 'hour' for update";
    told(&stranger, locked).await.unwrap();
    store.add_history(&name("lock"), &write(&["few"], 1, KEPT)).await.unwrap();
    assert_eq!(texts(&store, "lock").await, ["hour", "short", "few"]);
    told(&stranger, "rollback").await.unwrap();
    store.add_history(&name("lock"), &write(&["last"], 1, KEPT)).await.unwrap();
    assert_eq!(sql(&url, TEXTS).await, ["other stays", "lock few", "lock last"]);
}

/// Each of them also takes away what the others do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_that_add_to_one_name_lose_nothing() {
    let url = fresh_database().await;
    let stores: Vec<_> = (0..4).map(|_| Arc::new(store(&url))).collect();
    let full: Vec<_> = (0..40).map(|number| number.to_string()).collect();
    let full: Vec<_> = full.iter().map(String::as_str).collect();
    stores[0].add_history(&name("lock"), &write(&full, 20, KEPT)).await.unwrap();
    let all = stores.iter().enumerate().map(|(number, store)| {
        let store = store.clone();
        tokio::spawn(async move {
            for event in 0..10 {
                let event = write(&[&format!("of {number}: {event}")], 20, KEPT);
                store.add_history(&name("lock"), &event).await.unwrap();
            }
        })
    });
    for task in all.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    // Nothing that is left over stays.
    stores[0].add_history(&name("lock"), &write(&[], 20, KEPT)).await.unwrap();
    let told = texts(&stores[0], "lock").await;
    assert_eq!(told.len(), 40, "{told:?}");
    assert!(told.iter().all(|text| text.starts_with("of")), "{told:?}");
}

/// What is sent over one connection is answered in its order.
#[tokio::test]
async fn a_history_has_a_connection_of_its_own_so_that_no_lock_waits_behind_it() {
    let url = fresh_database().await;
    let store = store(&format!("{url}?connections=1"));
    let engine = store.for_engine();
    let pids = "select pid from pg_stat_activity \
                where datname = current_database() and application_name = 'tenure'";
    holds(&store, "lock").await;
    engine.inspect(&name("lock")).await.unwrap();
    let before = sql(&url, pids).await;
    let stranger = session(&url).await.unwrap();
    let locked = "begin; lock table tenure.history in access exclusive mode";
    told(&stranger, locked).await.unwrap();
    let waits = format!("{pids} and wait_event_type = 'Lock'");
    let waiting = async || {
        let mut waiting = Vec::new();
        until("it waits", async || {
            waiting = sql(&url, &waits).await;
            !waiting.is_empty()
        })
        .await;
        assert!(waiting.iter().all(|pid| !before.contains(pid)), "{before:?} {waiting:?}");
        holds(&store, "lock").await;
    };
    let lock = name("lock");
    let (read, ()) = tokio::join!(store.read_history(&lock), waiting());
    assert_eq!(read.unwrap_err().kind(), FaultKind::Unreachable);
    for store in [&store as &dyn Store, &*engine] {
        let (added, ()) = tokio::join!(add(store, "lock", "text"), waiting());
        assert_eq!(added.unwrap_err().kind(), FaultKind::Unreachable);
    }
    told(&stranger, "rollback").await.unwrap();
    add(&*engine, "lock", "text").await.unwrap();
    until("it is closed", async || sql(&url, pids).await.len() <= before.len()).await;
}

/// Over a connection of callers, locks would wait behind it.
#[tokio::test]
async fn where_the_server_has_no_connection_to_spare_the_history_is_lost_and_no_lock_waits() {
    let url = fresh_database().await;
    let role = format!("role_of_{}", url.rsplit('/').next().unwrap());
    sql(&url, &format!("create role {role} login connection limit 1")).await;
    let printed = tenure_postgres::schema("tenure").unwrap();
    sql(&url, &printed).await;
    sql(&url, &grants(&printed, &role)).await;
    let store = store(&url.replacen("postgres@", &format!("{role}@"), 1));
    holds(&store, "lock").await;
    let stranger = session(&url).await.unwrap();
    let locked = "begin; lock table tenure.history in access exclusive mode";
    told(&stranger, locked).await.unwrap();
    let fault = add(&*store.for_engine(), "lock", "text").await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unreachable, "{fault:#}");
    assert!(format!("{fault:#}").contains("connection limit"), "{fault:#}");
    holds(&store, "lock").await;
    told(&stranger, "rollback").await.unwrap();
    assert_eq!(sql(&url, "select count(*) from tenure.history").await, ["0"]);
    sql(&url, &format!("alter role {role} connection limit 2")).await;
    until("it is written again", async || add(&store, "lock", "text").await.is_ok()).await;
}

#[tokio::test]
async fn an_event_is_kept_byte_for_byte_and_one_that_is_no_text_is_refused() {
    let url = fresh_database().await;
    let database = url.rsplit('/').next().unwrap();
    let ways = [store(&url), store(&pooler().url_of(database))];
    let all = ["é", "'\"\\ \\x41 \\\\ ? $1 {}\n\r\t", "😀 日本", "", "\u{1}\u{7f}\u{feff}"];
    let lock = "é'\\";
    for one in &ways {
        one.add_history(&name(lock), &write(&all, 100, KEPT)).await.unwrap();
        for other in &ways {
            assert_eq!(texts(other, lock).await[..all.len()], all);
        }
    }
    sql(&url, "update tenure.history set event = '\\xff'").await;
    let fault = ways[0].read_history(&name(lock)).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Corrupt, "{fault:#}");
    assert!(format!("{fault:#}").contains("table of histories"), "{fault:#}");
}
