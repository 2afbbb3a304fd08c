//! The table of the records of slots: where it is missing, where it is not ours, and what goes from it.

use std::time::Duration;

use tenure_core::{
    Fault, FaultKind, Owner, Store,
    proto::queue::Answer,
    store::{Severity, SlotsWrite, SlotsWritten},
};
use tenure_postgres::PostgresStore;

use crate::{
    pooler::{forgetful, pooler},
    support::{fresh_database, name, session, sql, store, told, tries, until},
};

/// How long a record is kept here, unless a test waits for its end.
const KEPT: Duration = Duration::from_secs(3_600);
const TABLE: &str = "select pg_catalog.to_regclass('tenure.slots') is not null";

async fn holds(store: &PostgresStore, lock: &str) {
    let answer = store.acquire(&name(lock), &tries(1)).await.unwrap();
    assert!(matches!(answer, Answer::Granted { .. }), "{answer:?}");
}

/// Writes a record in place of the one that is there, if one can be read.
async fn put(
    store: &PostgresStore,
    lock: &str,
    owner: &Owner,
    (text, keep): (&str, Duration),
) -> Result<SlotsWritten, Fault> {
    let before = store.read_slots(&name(lock)).await.ok().and_then(|known| known.text);
    let write = SlotsWrite { before, text: text.to_owned(), keep };
    store.write_slots(&name(lock), owner, &write).await
}

async fn write(store: &PostgresStore, lock: &str, text: &str) -> Result<SlotsWritten, Fault> {
    put(store, lock, &tries(1).owner, (text, KEPT)).await
}

async fn text(store: &PostgresStore, lock: &str) -> Option<String> {
    store.read_slots(&name(lock)).await.unwrap().text
}

/// A role that may use the tables as an earlier version made them, and make none.
async fn old_database() -> (String, String) {
    let url = fresh_database().await;
    let role = format!("role_of_{}", url.rsplit('/').next().unwrap());
    sql(&url, &format!("create role {role} login")).await;
    let printed = tenure_postgres::schema("tenure").unwrap();
    sql(&url, &printed).await;
    sql(&url, "drop table tenure.slots").await;
    sql(&url, &grants(&printed, &role).replace("tenure.slots", "tenure.locks")).await;
    let own = url.replacen("postgres@", &format!("{role}@"), 1);
    (url, own)
}

fn grants(printed: &str, role: &str) -> String {
    let grants = printed.lines().filter_map(|line| line.strip_prefix("-- grant"));
    grants.map(|line| format!("grant{};", line.replace("to app;", &format!("to {role}")))).collect()
}

#[tokio::test]
async fn where_the_table_is_missing_locks_work_and_slots_say_what_to_run() {
    let (url, own) = old_database().await;
    let role = own.split(['/', '@']).nth(2).unwrap().to_owned();
    for (settings, says) in [("", "cannot create it"), ("?create=no", "does not exist")] {
        let store = PostgresStore::open(&format!("{own}{settings}")).await.unwrap();
        holds(&store, "lock").await;
        let refused = [
            store.read_slots(&name("lock")).await.map(drop),
            write(&store, "lock", "text").await.map(drop),
        ];
        for refused in refused {
            let fault = refused.unwrap_err();
            assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
            for says in
                [says, "tenure.slots", "tenure schema postgres --schema tenure", "locks work"]
            {
                assert!(format!("{fault:#}").contains(says), "{fault:#}");
            }
        }
        let bad = |found: Vec<tenure_core::store::Diagnostic>| {
            let bad = found.into_iter().filter(|one| one.severity == Severity::Bad);
            bad.map(|one| one.what.to_string()).collect::<Vec<_>>()
        };
        let of_owner = bad(self::store(&url).health().await.unwrap());
        assert_eq!(bad(store.health().await.unwrap()), of_owner);
        holds(&store, "other").await;
        store.sweep(Duration::from_millis(1)).await.unwrap();
        store.evict(&name("lock")).await.unwrap();
        store.evict(&name("other")).await.unwrap();
        sql(&url, "drop table if exists tenure.slots").await;
    }
    let store = PostgresStore::open(&own).await.unwrap();
    holds(&store, "lock").await;
    write(&store, "lock", "text").await.unwrap_err();
    let printed = tenure_postgres::schema("tenure").unwrap();
    sql(&url, &printed).await;
    let fault = write(&store, "lock", "text").await.unwrap_err();
    assert!(format!("{fault:#}").contains("lacks rights"), "{fault:#}");
    sql(&url, &grants(&printed, &role)).await;
    assert_eq!(write(&store, "lock", "text").await.unwrap(), SlotsWritten::Written);
    assert_eq!(text(&store, "lock").await.as_deref(), Some("text"));
}

/// Over connections that a pooler gives to others, too.
#[tokio::test]
async fn whoever_may_make_the_table_makes_it_when_it_is_first_needed() {
    let url = fresh_database().await;
    let database = url.rsplit('/').next().unwrap();
    let ways = [url.clone(), pooler().url_of(database), forgetful().url_of(database)];
    for way in &ways {
        let stores = [store(way), store(way), store(way)];
        for (store, lock) in stores.iter().zip(["a", "b", "c"]) {
            holds(store, lock).await;
        }
        sql(&url, "drop table tenure.slots").await;
        let forbidden = store(&format!("{url}?create=no"));
        forbidden.read_slots(&name("a")).await.unwrap_err();
        holds(&stores[0], "without").await;
        assert_eq!(sql(&url, TABLE).await, ["f"], "{way}");
        let [one, two, three] = &stores;
        let third = name("c");
        let all = tokio::join!(
            write_surely(one, "a", "one"),
            write_surely(two, "b", "two"),
            two.read_slots(&third),
            write_surely(three, "c", "three"),
            holds_many(two),
        );
        assert_eq!(all.0.unwrap(), SlotsWritten::Written, "{way}");
        assert_eq!(all.1.unwrap(), SlotsWritten::Written, "{way}");
        all.2.unwrap();
        assert_eq!(all.3.unwrap(), SlotsWritten::Written, "{way}");
        assert_eq!(text(three, "b").await.as_deref(), Some("two"), "{way}");
        for lock in ["a", "b", "c", "without"] {
            one.evict(&name(lock)).await.unwrap();
        }
    }
}

/// Behind a pooler a write is in doubt whose error does not come again, as another process made the table meanwhile.
async fn write_surely(
    store: &PostgresStore,
    lock: &str,
    text: &str,
) -> Result<SlotsWritten, Fault> {
    match write(store, lock, text).await {
        Err(fault) if fault.kind() == FaultKind::InDoubt => write(store, lock, text).await,
        done => done,
    }
}

/// What is sent over the same connection meanwhile is done.
async fn holds_many(store: &PostgresStore) {
    for number in 0..20 {
        let lock = format!("many {number}");
        holds(store, &lock).await;
        store.release(&name(&lock), &tries(1).owner, Duration::ZERO).await.unwrap();
    }
}

/// A failure there leaves no transaction open, in which what comes behind it would fail.
#[tokio::test]
async fn that_the_table_cannot_be_made_hurts_no_call_beside_it() {
    let (_, own) = old_database().await;
    let store = PostgresStore::open(&format!("{own}?connections=1&listen=no")).await.unwrap();
    holds(&store, "lock").await;
    let refused = async {
        for _ in 0..20 {
            write(&store, "lock", "text").await.unwrap_err();
        }
    };
    tokio::join!(refused, holds_many(&store));
}

#[tokio::test]
async fn a_table_of_another_with_that_name_stays_as_it_is_and_locks_work_beside_it() {
    for theirs in [
        "table tenure.slots (place text)",
        "table tenure.slots (name text, record bytea, kept_until bigint)",
        "view tenure.slots as select 1 as place",
        "type tenure.slots as enum ('a')",
    ] {
        let url = fresh_database().await;
        sql(&url, &format!("create schema tenure; create {theirs}")).await;
        let store = PostgresStore::open(&url).await.unwrap();
        holds(&store, "lock").await;
        let fault = write(&store, "lock", "text").await.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Misconfigured, "{theirs}: {fault:#}");
        sql(&url, &tenure_postgres::schema("tenure").unwrap()).await;
        let keys = "select count(*) from pg_catalog.pg_index where indrelid = pg_catalog.to_regclass('tenure.slots')";
        assert_eq!(sql(&url, keys).await, ["0"], "{theirs}");
    }
}

#[tokio::test]
async fn a_write_takes_away_the_records_whose_time_is_over_and_no_others() {
    let url = fresh_database().await;
    let store = store(&url);
    let all = ["a", "b", "c", "own"];
    for lock in all {
        holds(&store, lock).await;
        write(&store, lock, lock).await.unwrap();
    }
    sql(&url, "update tenure.slots set kept_until = 1 where name in ('a', 'b', 'own')").await;
    assert_eq!(text(&store, "a").await, None);
    let names = "select name from tenure.slots order by name";
    // Whoever does not hold the name changes nothing.
    let other = put(&store, "own", &tries(9).owner, ("x", KEPT)).await.unwrap();
    assert_eq!(other, SlotsWritten::NotHeld);
    assert_eq!(sql(&url, names).await, all);
    // Nor does it wait for a row that somebody has locked.
    let stranger = session(&url).await.unwrap();
    told(&stranger, "begin; select 1 from tenure.slots where name = 'b' for update").await.unwrap();
    write(&store, "own", "anew").await.unwrap();
    assert_eq!(sql(&url, names).await, ["b", "c", "own"]);
    told(&stranger, "rollback").await.unwrap();
    write(&store, "own", "anew").await.unwrap();
    assert_eq!(sql(&url, names).await, ["c", "own"]);
    let many = "insert into tenure.slots select 'many ' || n, '', n from generate_series(1, 40) n";
    sql(&url, many).await;
    write(&store, "own", "anew").await.unwrap();
    assert_eq!(sql(&url, "select count(*) from tenure.slots").await, ["26"], "16 at a time");
    assert_eq!(text(&store, "c").await.as_deref(), Some("c"));
}

#[tokio::test]
async fn a_lease_that_ends_or_is_taken_while_the_row_is_locked_writes_nothing() {
    let url = fresh_database().await;
    let store = store(&url);
    let gone = [
        "expires = (extract(epoch from clock_timestamp()) * 1000000)::bigint - 1",
        "owner = '\\x00'",
    ];
    for change in gone {
        holds(&store, "lock").await;
        let stranger = session(&url).await.unwrap();
        told(&stranger, &format!("begin; update tenure.locks set {change}")).await.unwrap();
        let (written, _) = tokio::join!(write(&store, "lock", change), async {
            waits_for_a_row(&url).await;
            told(&stranger, "commit").await.unwrap();
        });
        assert_eq!(written.unwrap(), SlotsWritten::NotHeld, "{change}");
        sql(&url, "delete from tenure.locks").await;
    }
    // A row that is only locked is not looked at again by itself. What is over stays where nothing is written.
    sql(&url, "insert into tenure.slots values ('over', '', 1)").await;
    let short = tenure_core::proto::queue::Ask { ttl: Duration::from_millis(400), ..tries(1) };
    store.acquire(&name("lock"), &short).await.unwrap();
    let stranger = session(&url).await.unwrap();
    told(&stranger, "begin; select 1 from tenure.locks for update").await.unwrap();
    let (written, _) = tokio::join!(write(&store, "lock", "late"), async {
        waits_for_a_row(&url).await;
        let left = "select 1 from tenure.locks where expires > extract(epoch from clock_timestamp()) * 1000000";
        until("the lease ends", async || sql(&url, left).await.is_empty()).await;
        told(&stranger, "commit").await.unwrap();
    });
    assert_eq!(written.unwrap(), SlotsWritten::NotHeld);
    assert_eq!(sql(&url, "select name from tenure.slots").await, ["over"]);
}

async fn waits_for_a_row(url: &str) {
    let waits = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    until("it waits", async || !sql(url, waits).await.is_empty()).await;
}

#[tokio::test]
async fn a_record_is_kept_byte_for_byte_whatever_a_role_has_set() {
    let url = fresh_database().await;
    let role = format!("role_of_{}", url.rsplit('/').next().unwrap());
    let database = url.rsplit('/').next().unwrap();
    let set = [
        "client_encoding = latin1",
        "standard_conforming_strings = off",
        "bytea_output = escape",
        "search_path = public",
    ];
    let set = set.map(|set| format!("alter role {role} set {set};")).concat();
    sql(&url, &format!("create role {role} superuser login; {set}")).await;
    let ways =
        [url.clone(), url.replacen("postgres@", &format!("{role}@"), 1), pooler().url_of(database)];
    let stores = ways.map(|way| store(&way));
    let texts =
        ["é", "e\u{301}", "'\"\\ \\x41 \\\\ ? $1 {}\n\r\t", "😀 日本", "", "\u{1}\u{7f}\u{feff}"];
    holds(&stores[0], "é'\\").await;
    for one in &stores {
        for other in &stores {
            for wanted in texts {
                assert_eq!(write(one, "é'\\", wanted).await.unwrap(), SlotsWritten::Written);
                assert_eq!(text(other, "é'\\").await.as_deref(), Some(wanted));
            }
        }
    }
    sql(&url, "update tenure.slots set record = '\\xff'").await;
    let fault = stores[0].read_slots(&name("é'\\")).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Corrupt, "{fault:#}");
}
