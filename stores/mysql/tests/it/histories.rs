//! The table of histories: where it is missing, where it is not ours, what goes from it, and what waits for it.

use std::{sync::Arc, time::Duration};

use mysql_async::{Conn, prelude::Queryable};
use tenure_core::{
    Fault, FaultKind, Store,
    history::Retention,
    store::{HistoryWrite, Severity},
};
use tenure_mysql::{MysqlStore, schema};
use tenure_servers::MariadbServer;

use crate::support::{LONG, name, outside, owner, run, sessions, store, take, until};

const DROP: &str = "drop table if exists tenure_history";

fn write(texts: &[&str], most: u32, time: Duration) -> HistoryWrite {
    let events = texts.iter().map(|text| ((*text).to_owned(), Duration::ZERO)).collect();
    HistoryWrite { events, retention: Retention::new(most, time).unwrap() }
}

async fn add(store: &dyn Store, lock: &str, text: &str) -> Result<(), Fault> {
    store.add_history(&name(lock), &write(&[text], 100, LONG)).await
}

async fn texts(store: &MysqlStore, lock: &str) -> Vec<String> {
    let told = store.read_history(&name(lock)).await.unwrap();
    told.events.into_iter().map(|event| event.text).collect()
}

/// All events, with their names.
async fn all(conn: &mut Conn) -> Vec<String> {
    let all = "select convert(concat(name, ' ', event) using utf8mb4) from tenure_history order by number";
    conn.query(all).await.unwrap()
}

async fn holds(store: &MysqlStore, lock: &str) {
    take(store, lock, owner(1)).await;
    store.release(&name(lock), &owner(1), Duration::ZERO).await.unwrap();
}

fn says(fault: &Fault) {
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    let said = format!("{fault:#}");
    for says in ["tenure_history", "tenure schema mysql --schema tenure", "locks work"] {
        assert!(said.contains(says), "{said}");
    }
}

/// A user with these rights.
async fn user(server: &MariadbServer, user: &str, grants: &[&str]) -> String {
    let mut conn = outside(server).await;
    run(&mut conn, &format!("create user {user} identified by 'secret'")).await;
    for grant in grants {
        run(&mut conn, &format!("grant {grant} to {user}")).await;
    }
    server.url().replace("root@", &format!("{user}:secret@")) + "?get_server_public_key=yes"
}

/// Rights on each table, and on all of them: the server refuses these in different words.
#[tokio::test(flavor = "multi_thread")]
async fn where_the_table_is_missing_locks_work_and_a_write_says_what_to_run() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    run(&mut conn, &schema("tenure").unwrap()).await;
    let each = "select, insert, update, delete on tenure.tenure_locks";
    let each = user(&server, "some", &[each, "select, update on tenure.tenure_meta"]).await;
    let of_all = user(&server, "others", &["select, insert, update, delete on tenure.*"]).await;
    for url in [&each, &of_all] {
        for settings in ["", "&create=no"] {
            let store = MysqlStore::open(&format!("{url}{settings}")).await.unwrap();
            let of = async || {
                // Without how long the server takes: that differs.
                let found = store.health().await.unwrap().into_iter();
                let found = found.filter(|one| one.what != "latency");
                found.map(|one| (one.what, one.severity)).collect::<Vec<_>>()
            };
            let before = of().await;
            run(&mut conn, DROP).await;
            says(&add(&store, "lock", "text").await.unwrap_err());
            // Of a table that is not there, some hear that they have no rights on it.
            match store.read_history(&name("lock")).await {
                Ok(told) => assert!(told.events.is_empty() && told.now > 1_700_000_000_000_000),
                Err(fault) => says(&fault),
            }
            assert_eq!(of().await, before);
            assert!(before.iter().all(|(_, severity)| *severity != Severity::Bad), "{before:?}");
            holds(&store, "lock").await;
            store.sweep(Duration::ZERO).await.unwrap();
        }
    }
    let there: Vec<String> = conn.query("show tables like '%history'").await.unwrap();
    assert!(there.is_empty(), "{there:?}");
    for url in [&each, &of_all] {
        let refused = store(url);
        let fault = add(&refused, "lock", "text").await.unwrap_err();
        // As the owner of the tables does. The view is there already, which some servers refuse.
        let printed = schema("tenure").unwrap();
        let _ = conn.query_drop(&printed).await;
        let grants = printed.lines().filter_map(|line| line.strip_prefix("-- grant"));
        for grant in grants {
            let grant = grant.trim_end_matches(';').replace("to app", "to some");
            run(&mut conn, &format!("grant{grant}")).await;
        }
        // The refusal is remembered for a while, and nothing is asked meanwhile.
        let again = add(&refused, "lock", "text").await.unwrap_err();
        assert_eq!(format!("{again:#}"), format!("{fault:#}"));
        let store = store(url);
        add(&store, "lock", "text").await.unwrap();
        assert_eq!(texts(&store, "lock").await, ["text"]);
        run(&mut conn, DROP).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_may_make_the_table_makes_it_when_something_is_first_added() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    let stores = [1, 2, 3].map(|_| store(&server.url()));
    for store in &stores {
        holds(store, "lock").await;
    }
    run(&mut conn, DROP).await;
    let forbidden = store(&format!("{}?create=no", server.url()));
    says(&add(&forbidden, "a", "text").await.unwrap_err());
    assert!(texts(&stores[0], "a").await.is_empty());
    let there: Vec<String> = conn.query("show tables like '%history'").await.unwrap();
    assert!(there.is_empty(), "{there:?}");
    let [one, two, three] = &stores;
    let added = tokio::join!(add(one, "a", "1"), add(two, "b", "2"), add(three, "c", "3"));
    for added in [added.0, added.1, added.2] {
        added.unwrap();
    }
    assert_eq!(texts(three, "b").await, ["2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_of_another_with_that_name_stays_as_it_is_and_locks_work_beside_it() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    for theirs in [
        "table tenure_history (place int)",
        "table tenure_history (number int, name text, at bigint, event text, kept_until bigint)",
        "view tenure_history as select 1 as place",
    ] {
        run(&mut conn, &format!("create {theirs}")).await;
        let columns = "select concat(column_name, column_type) from information_schema.columns \
                       where table_name = 'tenure_history' order by ordinal_position";
        let before: Vec<String> = conn.query(columns).await.unwrap();
        let store = MysqlStore::open(&server.url()).await.unwrap();
        holds(&store, "lock").await;
        says(&add(&store, "lock", "text").await.unwrap_err());
        holds(&store, "lock").await;
        let after: Vec<String> = conn.query(columns).await.unwrap();
        assert_eq!(after, before, "{theirs}");
        if theirs.starts_with("table") {
            let rows: Vec<i64> = conn.query("select count(*) from tenure_history").await.unwrap();
            assert_eq!(rows, [0], "{theirs}");
        }
        let end = theirs.find(" (").or(theirs.find(" as")).unwrap();
        run(&mut conn, &format!("drop {}", &theirs[..end])).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_takes_away_the_events_of_other_names_whose_time_is_over_and_no_others() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    let store = store(&server.url());
    for lock in ["a", "b", "c", "own"] {
        add(&store, lock, "1").await.unwrap();
    }
    run(&mut conn, "update tenure_history set kept_until = 1 where name in ('a', 'b')").await;
    assert!(texts(&store, "a").await.is_empty());
    // It does not wait for a row that somebody has locked.
    let mut stranger = outside(&server).await;
    run(&mut stranger, "start transaction").await;
    let locked = "select 1 from tenure_history force index (primary) where number = 2 for update";
    run(&mut stranger, locked).await;
    add(&store, "own", "2").await.unwrap();
    assert_eq!(all(&mut conn).await, ["b 1", "c 1", "own 1", "own 2"]);
    run(&mut stranger, "rollback").await;
    add(&store, "own", "3").await.unwrap();
    assert_eq!(all(&mut conn).await, ["c 1", "own 1", "own 2", "own 3"]);
    let many: Vec<_> =
        (0..40).map(|number| format!("('many {number}', 1, '', {number})")).collect();
    let many = many.join(", ");
    let many = format!("insert into tenure_history (name, at, event, kept_until) values {many}");
    run(&mut conn, &many).await;
    add(&store, "own", "4").await.unwrap();
    let left = "select count(*) from tenure_history where name like 'many%'";
    let left: Vec<i64> = conn.query(left).await.unwrap();
    assert_eq!(left, [24], "16 at a time");
}

/// Of names that are never used again nothing is left either.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_once_the_time_is_over_and_something_else_is_written() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    let store = store(&server.url());
    for number in 0..20 {
        let events = write(&["began", "ended"], 10, Duration::from_secs(1));
        store.add_history(&name(&format!("once {number}")), &events).await.unwrap();
    }
    let left = "select count(*) from tenure_history where name <> 'last'";
    until("they are gone", async || {
        add(&store, "last", "text").await.unwrap();
        conn.query::<i64, _>(left).await.unwrap() == [0]
    })
    .await;
}

/// Nobody writes a history any more.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_over_goes_while_any_program_uses_the_store() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    let store = store(&server.url());
    holds(&store, "lock").await;
    run(&mut conn, DROP).await;
    assert!(!store.sweep_history().await.unwrap());
    let tables: Vec<String> = conn.query("show tables like '%history'").await.unwrap();
    assert_eq!(tables, [""; 0], "a sweep makes no table");
    add(&store, "kept", "stays").await.unwrap();
    let many: Vec<_> =
        (1..=1_200).map(|number| format!("('over {number}', 1, '', {number})")).collect();
    let many = many.join(", ");
    let many = format!("insert into tenure_history (name, at, event, kept_until) values {many}");
    run(&mut conn, &many).await;
    let mut stranger = outside(&server).await;
    run(&mut stranger, "start transaction").await;
    let locked = "select 1 from tenure_history force index (primary) where number = 8 for update";
    run(&mut stranger, locked).await;
    assert!(store.sweep_history().await.unwrap());
    let left = "select count(*) from tenure_history";
    assert_eq!(conn.query::<i64, _>(left).await.unwrap(), [689], "512 at a time");
    for number in 0..64 {
        holds(&store, &format!("new {number}")).await;
    }
    until("they go by themselves", async || conn.query::<i64, _>(left).await.unwrap() == [2]).await;
    run(&mut stranger, "rollback").await;
    assert!(!store.sweep_history().await.unwrap());
    assert_eq!(all(&mut conn).await, ["kept stays"]);
    let theirs = "drop table tenure_history; create table tenure_history (kept_until bigint); \
                  insert into tenure_history values (1)";
    run(&mut conn, theirs).await;
    store.sweep_history().await.unwrap_err();
    assert_eq!(conn.query::<i64, _>(left).await.unwrap(), [1], "that of another program stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shorter_retention_holds_for_what_was_written_with_a_longer_one() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    let store = store(&server.url());
    let old = [("old", 7_200), ("minutes", 300), ("new", 0)];
    let events = old.map(|(text, ago)| (text.to_owned(), Duration::from_secs(ago)));
    let long = Retention::new(100, Duration::from_secs(86_400)).unwrap();
    let events = HistoryWrite { events: events.to_vec(), retention: long };
    store.add_history(&name("lock"), &events).await.unwrap();
    add(&store, "other", "stays").await.unwrap();
    store.add_history(&name("lock"), &write(&["short"], 100, LONG)).await.unwrap();
    let expected = ["lock minutes", "lock new", "other stays", "lock short"];
    assert_eq!(all(&mut conn).await, expected);
    let ends = "select max(kept_until - at) from tenure_history where name = 'lock'";
    let ends: Vec<u128> = conn.query(ends).await.unwrap();
    assert_eq!(ends, [LONG.as_micros()]);
    // So does a smaller number. One that somebody has locked counts, and goes by a later write.
    let mut stranger = outside(&server).await;
    run(&mut stranger, "start transaction").await;
    let locked = "select 1 from tenure_history force index (primary) where number = 2 for update";
    run(&mut stranger, locked).await;
    store.add_history(&name("lock"), &write(&["few"], 1, LONG)).await.unwrap();
    assert_eq!(texts(&store, "lock").await, ["minutes", "short", "few"]);
    run(&mut stranger, "rollback").await;
    store.add_history(&name("lock"), &write(&["last"], 1, LONG)).await.unwrap();
    assert_eq!(all(&mut conn).await, ["other stays", "lock few", "lock last"]);
}

/// Each of them also takes away what the others do.
#[tokio::test(flavor = "multi_thread")]
async fn several_that_add_to_one_name_lose_nothing() {
    let server = MariadbServer::start();
    let stores: Vec<_> = (0..4).map(|_| Arc::new(store(&server.url()))).collect();
    let full: Vec<_> = (0..40).map(|number| number.to_string()).collect();
    let full: Vec<_> = full.iter().map(String::as_str).collect();
    stores[0].add_history(&name("lock"), &write(&full, 20, LONG)).await.unwrap();
    let tasks = stores.iter().enumerate().map(|(number, store)| {
        let store = store.clone();
        tokio::spawn(async move {
            for event in 0..10 {
                let event = write(&[&format!("of {number}: {event}")], 20, LONG);
                store.add_history(&name("lock"), &event).await.unwrap();
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    // Nothing that is left over stays.
    stores[0].add_history(&name("lock"), &write(&[], 20, LONG)).await.unwrap();
    let told = texts(&stores[0], "lock").await;
    assert_eq!(told.len(), 40, "{told:?}");
    assert!(told.iter().all(|text| text.starts_with("of")), "{told:?}");
}

/// Callers have one session here, and the engine two calls at a time.
#[tokio::test(flavor = "multi_thread")]
async fn no_lock_waits_for_a_history_that_is_slow() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    let store = store(&format!("{}?connections=1", server.url()));
    let engine = store.for_engine();
    holds(&store, "lock").await;
    engine.inspect(&name("lock")).await.unwrap();
    add(&store, "lock", "text").await.unwrap();
    run(&mut conn, "lock tables tenure_history write").await;
    let mut other = outside(&server).await;
    let waiting =
        "select id from information_schema.processlist where state like 'Waiting for table%'";
    let adds: Vec<_> = (0..4)
        .map(|number| {
            let store: Arc<dyn Store> =
                if number % 2 == 0 { engine.clone() } else { Arc::new(store.clone()) };
            tokio::spawn(async move { add(&*store, &format!("of {number}"), "text").await })
        })
        .collect();
    let mut found: Vec<u64> = Vec::new();
    until("all wait that may", async || {
        found = other.query(waiting).await.unwrap();
        found.len() >= 2
    })
    .await;
    // More of them wait here for one another, and no lock for them.
    holds(&store, "lock").await;
    engine.inspect(&name("lock")).await.unwrap();
    let still: Vec<u64> = other.query(waiting).await.unwrap();
    assert_eq!(still, found, "the locks waited until the others were over");
    assert!(sessions(&mut other).await.len() >= 4);
    run(&mut conn, "unlock tables").await;
    for added in adds {
        added.await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_kept_byte_for_byte_and_one_that_is_no_text_is_refused() {
    let server = MariadbServer::start_with(&["--character-set-server=latin1"]);
    let mut conn = outside(&server).await;
    let store = store(&server.url());
    let all = ["é", "'\"\\ \\x41 \\\\ ? {}\n\r\t", "😀 日本", "", "\u{1}\u{7f}\u{feff}", "a "];
    store.add_history(&name("é'\\"), &write(&all, 100, LONG)).await.unwrap();
    assert_eq!(texts(&store, "é'\\").await, all);
    run(&mut conn, "update tenure_history set event = x'ff'").await;
    let fault = store.read_history(&name("é'\\")).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Corrupt, "{fault:#}");
    assert!(format!("{fault:#}").contains("table of histories"), "{fault:#}");
}

/// One message has room for a part of them alone.
#[tokio::test(flavor = "multi_thread")]
async fn many_long_events_are_added_over_a_server_that_takes_short_texts() {
    let server = MariadbServer::start_with(&["--max-allowed-packet=32K"]);
    let store = store(&server.url());
    let events: Vec<_> = (0..64).map(|number| format!("{number:0>1024}")).collect();
    let events: Vec<_> = events.iter().map(String::as_str).collect();
    store.add_history(&name(&"n".repeat(512)), &write(&events, 100, LONG)).await.unwrap();
    assert_eq!(texts(&store, &"n".repeat(512)).await, events);
}
