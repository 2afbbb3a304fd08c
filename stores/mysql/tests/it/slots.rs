//! The table of the records of slots: where it is missing, where it is not ours, and what goes from it.

use std::time::Duration;

use mysql_async::{Conn, prelude::Queryable};
use tenure_core::{
    Fault, FaultKind, Owner, Store,
    proto::queue::Intent,
    store::{Severity, SlotsWrite, SlotsWritten},
};
use tenure_mysql::{MysqlStore, schema};
use tenure_servers::MariadbServer;

use crate::support::{LONG, ask, name, outside, owner, run, store, take, until};

const DROP: &str = "drop table if exists tenure_slots";

/// Writes a record in place of the one that is there, if one can be read.
async fn put(
    store: &MysqlStore,
    lock: &str,
    owner: &Owner,
    (text, keep): (&str, Duration),
) -> Result<SlotsWritten, Fault> {
    let before = store.read_slots(&name(lock)).await.ok().and_then(|known| known.text);
    let write = SlotsWrite { before, text: text.to_owned(), keep };
    store.write_slots(&name(lock), owner, &write).await
}

async fn write(store: &MysqlStore, lock: &str, text: &str) -> Result<SlotsWritten, Fault> {
    put(store, lock, &owner(1), (text, LONG)).await
}

async fn text(store: &MysqlStore, lock: &str) -> Option<String> {
    store.read_slots(&name(lock)).await.unwrap().text
}

async fn names(conn: &mut Conn) -> Vec<String> {
    conn.query("select convert(name using utf8mb4) from tenure_slots order by name").await.unwrap()
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
async fn where_the_table_is_missing_locks_work_and_slots_say_what_to_run() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    run(&mut conn, &schema("tenure").unwrap()).await;
    let each = "select, insert, update, delete on tenure.tenure_locks";
    let each = user(&server, "some", &[each, "select, update on tenure.tenure_meta"]).await;
    let all = user(&server, "others", &["select, insert, update, delete on tenure.*"]).await;
    for url in [&each, &all] {
        for settings in ["", "&create=no"] {
            let store = MysqlStore::open(&format!("{url}{settings}")).await.unwrap();
            let of = async || {
                let found = store.health().await.unwrap().into_iter();
                found.map(|one| (one.what, one.severity)).collect::<Vec<_>>()
            };
            let before = of().await;
            run(&mut conn, DROP).await;
            take(&store, "lock", owner(1)).await;
            let read = store.read_slots(&name("lock")).await.map(drop);
            for refused in [read, write(&store, "lock", "text").await.map(drop)] {
                let fault = refused.unwrap_err();
                assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
                let said = format!("{fault:#}");
                for says in ["tenure_slots", "tenure schema mysql --schema tenure", "locks work"] {
                    assert!(said.contains(says), "{said}");
                }
            }
            assert_eq!(of().await, before);
            assert!(before.iter().all(|(_, severity)| *severity != Severity::Bad), "{before:?}");
            take(&store, "other", owner(1)).await;
            store.sweep(Duration::ZERO).await.unwrap();
            store.evict(&name("lock")).await.unwrap();
            store.evict(&name("other")).await.unwrap();
        }
    }
    let stores = [store(&each), store(&all)];
    for store in &stores {
        take(store, "lock", owner(1)).await;
        write(store, "lock", "text").await.unwrap_err();
        // As the owner of the tables does. The view is there already, which some servers refuse.
        let printed = schema("tenure").unwrap();
        let _ = conn.query_drop(&printed).await;
        let grants = printed.lines().filter_map(|line| line.strip_prefix("-- grant"));
        for grant in grants {
            let grant = grant.trim_end_matches(';').replace("to app", "to some");
            run(&mut conn, &format!("grant{grant}")).await;
        }
        assert_eq!(write(store, "lock", "text").await.unwrap(), SlotsWritten::Written);
        assert_eq!(text(store, "lock").await.as_deref(), Some("text"));
        store.evict(&name("lock")).await.unwrap();
        run(&mut conn, DROP).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_may_make_the_table_makes_it_when_it_is_first_needed() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    let stores = [1, 2, 3].map(|_| store(&server.url()));
    for (store, lock) in stores.iter().zip(["a", "b", "c"]) {
        take(store, lock, owner(1)).await;
    }
    run(&mut conn, DROP).await;
    take(&stores[0], "without", owner(1)).await;
    let forbidden = store(&format!("{}?create=no", server.url()));
    forbidden.read_slots(&name("a")).await.unwrap_err();
    let there: Vec<String> = conn.query("show tables like '%slots'").await.unwrap();
    assert!(there.is_empty(), "{there:?}");
    let [one, two, three] = &stores;
    let all = tokio::join!(write(one, "a", "1"), write(two, "b", "2"), write(three, "c", "3"));
    for written in [all.0, all.1, all.2] {
        assert_eq!(written.unwrap(), SlotsWritten::Written);
    }
    assert_eq!(text(three, "b").await.as_deref(), Some("2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_of_another_with_that_name_stays_as_it_is_and_locks_work_beside_it() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    for theirs in ["table tenure_slots (place int)", "view tenure_slots as select 1 as place"] {
        run(&mut conn, &format!("create {theirs}")).await;
        let store = MysqlStore::open(&server.url()).await.unwrap();
        take(&store, "lock", owner(1)).await;
        let fault = write(&store, "lock", "text").await.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Misconfigured, "{theirs}: {fault:#}");
        take(&store, "other", owner(1)).await;
        let columns: Vec<String> = conn
            .query("select column_name from information_schema.columns where table_name = 'tenure_slots'")
            .await
            .unwrap();
        assert_eq!(columns, ["place"], "{theirs}");
        run(
            &mut conn,
            &format!("drop {}", &theirs[..theirs.find(" (").or(theirs.find(" as")).unwrap()]),
        )
        .await;
        run(&mut conn, "drop table tenure_locks, tenure_meta").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_takes_away_the_records_whose_time_is_over_and_no_others() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    let store = store(&server.url());
    let all = ["a", "b", "c", "own"];
    for lock in all {
        take(&store, lock, owner(1)).await;
        write(&store, lock, lock).await.unwrap();
    }
    run(&mut conn, "update tenure_slots set kept_until = 1 where name in ('a', 'b', 'own')").await;
    assert_eq!(text(&store, "a").await, None);
    assert_eq!(names(&mut conn).await, all);
    write(&store, "own", "anew").await.unwrap();
    assert_eq!(names(&mut conn).await, ["c", "own"]);
    let many: Vec<_> = (0..40).map(|number| format!("('many {number}', '', {number})")).collect();
    run(&mut conn, &format!("insert into tenure_slots values {}", many.join(", "))).await;
    write(&store, "own", "anew").await.unwrap();
    assert_eq!(names(&mut conn).await.len(), 26, "16 at a time");
    assert_eq!(text(&store, "c").await.as_deref(), Some("c"));
    assert_eq!(text(&store, "own").await.as_deref(), Some("anew"));
    // One that somebody has locked goes later, and keeps no other write from its effect.
    let mut stranger = outside(&server).await;
    run(&mut stranger, "start transaction").await;
    run(&mut stranger, "select 1 from tenure_slots where name = 'many 16' for update").await;
    assert_eq!(write(&store, "own", "again").await.unwrap(), SlotsWritten::Written);
    assert_eq!(text(&store, "own").await.as_deref(), Some("again"));
    let left = names(&mut conn).await;
    assert!(left.len() == 10 && left.contains(&"many 16".to_owned()), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_ends_or_is_taken_while_the_row_is_locked_writes_nothing() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    let store = store(&server.url());
    let mut stranger = outside(&server).await;
    for change in ["expires = 1", "owner = x'00'"] {
        take(&store, "lock", owner(1)).await;
        run(&mut stranger, "start transaction").await;
        run(&mut stranger, &format!("update tenure_locks set {change}")).await;
        let (written, ()) = tokio::join!(write(&store, "lock", change), async {
            waits_for_a_row(&mut conn).await;
            run(&mut stranger, "commit").await;
        });
        assert_eq!(written.unwrap(), SlotsWritten::NotHeld, "{change}");
        run(&mut conn, "delete from tenure_locks").await;
    }
    // A lease that ends by itself, too.
    let short = ask(owner(1), Intent::Try, Duration::from_millis(700));
    store.acquire(&name("lock"), &short).await.unwrap();
    run(&mut stranger, "start transaction").await;
    run(&mut stranger, "select 1 from tenure_locks for update").await;
    let (written, ()) = tokio::join!(write(&store, "lock", "late"), async {
        waits_for_a_row(&mut conn).await;
        tokio::time::sleep(Duration::from_millis(720)).await;
        run(&mut stranger, "commit").await;
    });
    assert_eq!(written.unwrap(), SlotsWritten::NotHeld);
    assert_eq!(text(&store, "lock").await, None);
}

async fn waits_for_a_row(conn: &mut Conn) {
    let waits = "select 1 from information_schema.innodb_trx where trx_state = 'LOCK WAIT'";
    // The server tells the same again to whoever asks sooner.
    let pause = Duration::from_millis(150);
    let is_waiting = async || {
        tokio::time::sleep(pause).await;
        !conn.query::<u8, _>(waits).await.unwrap().is_empty()
    };
    until("it waits", is_waiting).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_is_kept_byte_for_byte_whatever_character_set_the_server_has() {
    let server = MariadbServer::start_with(&["--character-set-server=latin1"]);
    let mut conn = outside(&server).await;
    let texts = [
        "é",
        "e\u{301}",
        "'\"\\ \\x41 \\\\ ? {}\n\r\t",
        "😀 日本",
        "",
        "\u{1}\u{7f}\u{feff}",
        "a ",
    ];
    for charset in ["latin1", "utf16", "cp932"] {
        run(&mut conn, &format!("create database of_{charset} charset {charset}")).await;
        let url = server.url().replace("/tenure", &format!("/of_{charset}"));
        let plain = store(&url);
        take(&plain, "é'\\", owner(1)).await;
        let all = format!("all on of_{charset}.*");
        let url = user(&server, &format!("u{charset}"), &[&all]).await;
        for told in ["set names latin1", "set sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'"] {
            run(&mut conn, &format!("set global init_connect = \"{told}\"")).await;
            let other = store(&url.replace("/tenure", &format!("/of_{charset}")));
            for wanted in texts {
                for (one, other) in [(&plain, &other), (&other, &plain)] {
                    let written = write(one, "é'\\", wanted).await.unwrap();
                    assert_eq!(written, SlotsWritten::Written, "{charset} {told}");
                    let read = text(other, "é'\\").await;
                    assert_eq!(read.as_deref(), Some(wanted), "{charset} {told}");
                }
            }
        }
        let mut conn = outside(&server).await;
        run(&mut conn, &format!("update of_{charset}.tenure_slots set record = x'ff'")).await;
        let fault = plain.read_slots(&name("é'\\")).await.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Corrupt, "{fault:#}");
    }
}
