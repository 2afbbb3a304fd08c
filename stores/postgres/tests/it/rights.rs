//! Users with few rights, tables that are not there or not ours, and rows that others wrote or locked.

use std::time::{Duration, Instant};

use tenure_core::{
    AcquireError, Fault, FaultKind, Store,
    history::Retention,
    proto::Renewed,
    store::{HistoryWrite, Renewal, Severity, SlotsWrite, SlotsWritten},
};
use tenure_postgres::PostgresStore;

use crate::support::{
    PATIENCE, fresh_database, hold, name, session, sql, store, tenure, told, tries, until,
};

/// The same database for another role.
fn as_role(url: &str, role: &str) -> String {
    url.replacen("postgres@", &format!("{role}@"), 1)
}

/// A role of the server, in a database of its own, so that each name is there once.
async fn role(url: &str) -> String {
    let role = format!("role_of_{}", url.rsplit('/').next().unwrap());
    sql(url, &format!("create role {role} login")).await;
    role
}

fn is_misconfigured(fault: &Fault, says: &[&str]) {
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    let said = format!("{fault:#}");
    assert!(says.iter().all(|word| said.contains(word)), "{said}");
}

#[tokio::test]
async fn a_role_that_has_what_the_printed_tables_say_needs_no_more() {
    let url = fresh_database().await;
    let role = role(&url).await;
    let printed = tenure_postgres::schema("tenure").unwrap();
    let grants = printed.replace("-- grant", "grant").replace("to app", &format!("to {role}"));
    assert_eq!(grants.matches(&role).count(), 5);
    sql(&url, &grants).await;
    let own = as_role(&url, &role);
    for settings in ["?create=no", ""] {
        let store = PostgresStore::open(&format!("{own}{settings}")).await.unwrap();
        for diagnostic in store.health().await.unwrap() {
            assert_ne!(diagnostic.what, "full cycle", "{diagnostic:?}");
            assert!(
                diagnostic.what != "permissions" || diagnostic.help.is_none(),
                "{diagnostic:?}"
            );
        }
        let tenure = tenure(&format!("{own}{settings}"));
        let write = tenure.rwlock("lock").write().await.unwrap();
        let read = write.downgrade().await.unwrap();
        read.release().await.unwrap();
        tenure.semaphore("permits", 2).acquire().await.unwrap().release().await.unwrap();
        let held = tries(1);
        store.acquire(&name("slots"), &held).await.unwrap();
        let written = store
            .write_slots(
                &name("slots"),
                &held.owner,
                &SlotsWrite { before: None, text: "text".to_owned(), keep: PATIENCE },
            )
            .await;
        assert_eq!(written.unwrap(), SlotsWritten::Written);
        assert!(store.read_slots(&name("slots")).await.unwrap().text.is_some());
        let events = vec![("event".to_owned(), Duration::ZERO)];
        let write = HistoryWrite { events, retention: Retention::entries(1).unwrap() };
        store.add_history(&name("slots"), &write).await.unwrap();
        assert!(!store.read_history(&name("slots")).await.unwrap().events.is_empty());
        store.incarnation().await.unwrap();
        assert!(store.server().await.unwrap().is_some());
        store.sweep(Duration::from_millis(1)).await.unwrap();
        assert!(store.list("", 10).await.unwrap().missing.is_empty());
    }
}

#[tokio::test]
async fn each_right_that_is_missing_is_said_at_once() {
    let url = fresh_database().await;
    let role = role(&url).await;
    let own = as_role(&url, &role);
    let fault = PostgresStore::open(&own).await.unwrap_err();
    is_misconfigured(
        &fault,
        &["cannot create the tables", "tenure schema postgres", "permission denied"],
    );
    let fault = PostgresStore::open(&format!("{url}?create=no")).await.unwrap_err();
    is_misconfigured(&fault, &["tables of tenure do not exist", "tenure schema postgres"]);
    drop(PostgresStore::open(&url).await.unwrap());
    let fault = PostgresStore::open(&own).await.unwrap_err();
    is_misconfigured(
        &fault,
        &["lacks rights on the tables", "tenure schema postgres", "permission denied for schema"],
    );
    sql(&url, &format!("grant usage on schema tenure to {role}; grant select on tenure.meta, tenure.locks to {role}"))
        .await;
    let began = Instant::now();
    let denied = tenure(&own).mutex("lock").lock().wait(PATIENCE).await.unwrap_err();
    assert!(matches!(denied, AcquireError::Misconfigured { .. }), "{denied}");
    assert!(began.elapsed() < Duration::from_secs(5), "it was tried again and again");
}

/// Its second connection would be the one that hears them.
#[tokio::test]
async fn that_no_message_comes_is_seen_before_anybody_waits() {
    let url = fresh_database().await;
    let role = role(&url).await;
    let printed = tenure_postgres::schema("tenure").unwrap();
    let grants = printed.replace("-- grant", "grant").replace("to app", &format!("to {role}"));
    sql(&url, &grants).await;
    let messages = async || {
        let found = store(&as_role(&url, &role)).health().await.unwrap();
        found.into_iter().find(|diagnostic| diagnostic.what == "messages")
    };
    let seen = messages().await.unwrap();
    assert_eq!(seen.severity, Severity::Good, "{seen:?}");
    sql(&url, &format!("alter role {role} connection limit 1")).await;
    // Until the last one's connections are gone there is no way at all.
    let mut seen = None;
    until("it is looked at", async || {
        seen = messages().await;
        seen.is_some()
    })
    .await;
    let seen = seen.unwrap();
    assert_eq!((seen.severity, seen.promise), (Severity::Warning, Some("S6")), "{seen:?}");
}

/// What is only read is quick.
#[tokio::test]
async fn a_server_whose_writes_take_long_is_slow() {
    let url = fresh_database().await;
    let store = store(&url);
    let latency = async || {
        let found = store.health().await.unwrap();
        found.into_iter().find(|diagnostic| diagnostic.what == "latency").unwrap()
    };
    assert!(latency().await.found.contains("for a renewal"), "{:?}", latency().await);
    let slows = "create function slow() returns trigger language plpgsql as \
                 $$ begin perform pg_sleep(0.2); return new; end $$; \
                 create trigger slow before update on tenure.locks for each row execute function slow()";
    sql(&url, slows).await;
    let slow = latency().await;
    assert_eq!((slow.severity, slow.promise), (Severity::Warning, Some("S3")), "{slow:?}");
}

#[tokio::test]
async fn tables_of_a_later_format_are_left_alone() {
    let url = fresh_database().await;
    drop(PostgresStore::open(&url).await.unwrap());
    sql(&url, "update tenure.meta set format = 3").await;
    let fault = PostgresStore::open(&url).await.unwrap_err();
    is_misconfigured(&fault, &["format 3", "knows 2"]);
    assert!(sql(&url, "select name from tenure.locks").await.is_empty());
}

#[tokio::test]
async fn tables_that_would_let_in_two_holders_are_refused() {
    let insensitive = "create collation {db} (provider = icu, locale = 'und-u-ks-level2', deterministic = false);";
    let cases = [
        ("alter table tenure.locks drop constraint locks_pkey", "primary key"),
        (
            "alter table tenure.locks drop constraint locks_pkey; \
          create unique index on tenure.locks (name) where waiting = 0",
            "primary key",
        ),
        (
            "alter table tenure.locks drop constraint locks_pkey; \
          create unique index on tenure.locks (name, version)",
            "primary key",
        ),
        ("alter table tenure.locks set unlogged", "crash"),
        ("alter table tenure.locks alter column name type char(100)", "by their bytes"),
        (
            &*format!(
                "{insensitive} alter table tenure.locks alter column name type text collate {{db}}"
            ),
            "by their bytes",
        ),
    ];
    for (change, says) in cases {
        let url = fresh_database().await;
        drop(PostgresStore::open(&url).await.unwrap());
        let dropped = "drop view tenure.holders;";
        sql(&url, &format!("{dropped} {}", change.replace("{db}", "public.blind"))).await;
        let fault = PostgresStore::open(&url).await.unwrap_err();
        is_misconfigured(&fault, &["tenure.locks", says, "tenure schema postgres"]);
    }
    // Another unique index does as well.
    let url = fresh_database().await;
    drop(PostgresStore::open(&url).await.unwrap());
    let other = "alter table tenure.locks drop constraint locks_pkey; \
                 create unique index on tenure.locks (name) include (version)";
    sql(&url, other).await;
    drop(PostgresStore::open(&url).await.unwrap());
}

#[tokio::test]
async fn a_row_of_nonsense_is_corrupt_and_the_others_are_as_before() {
    let url = fresh_database().await;
    let store = store(&url);
    for (number, lock) in ["bad", "good", "odd"].into_iter().enumerate() {
        store.acquire(&name(lock), &tries(u8::try_from(number).unwrap() + 1)).await.unwrap();
    }
    sql(
        &url,
        "update tenure.locks set others = '\\x00ff17' where name = 'bad'; \
               update tenure.locks set kind = 99 where name = 'odd'",
    )
    .await;
    for lock in ["bad", "odd"] {
        let fault = store.acquire(&name(lock), &tries(9)).await.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Corrupt, "{fault:#}");
        assert_eq!(store.inspect(&name(lock)).await.unwrap_err().kind(), FaultKind::Corrupt);
    }
    let listed = store.list("", 10).await.unwrap();
    assert_eq!(listed.names.len(), 1);
    assert_eq!(listed.missing.len(), 2, "{:?}", listed.missing);
    store.release(&name("good"), &tries(2).owner, Duration::ZERO).await.unwrap();
    store.acquire(&name("good"), &tries(3)).await.unwrap();
}

#[tokio::test]
async fn rows_that_nobody_of_tenures_wrote_are_told_of_beside_the_others() {
    let url = fresh_database().await;
    let store = store(&url);
    store.acquire(&name("good"), &tries(1)).await.unwrap();
    let copied = |change: &str| {
        format!("update copy set {change}; insert into tenure.locks select * from copy;")
    };
    let all = [
        "create table copy as select * from tenure.locks;",
        &copied("name = E'ctl\\x01'"),
        &copied("name = repeat('n', 600)"),
        &copied("name = 'short', owner = '\\x07'"),
    ];
    sql(&url, &all.concat()).await;
    let listed = store.list("", 10).await.unwrap();
    assert_eq!(listed.names.len(), 1);
    let missing = listed.missing.join("\n");
    for says in ["ctl\\u{1}", "nnnn…", "\"short\""] {
        assert!(missing.contains(says), "{missing}");
    }
    assert_eq!(listed.missing.len(), 3);
    assert!(missing.len() < 1_000 && missing.contains("makes no sense"), "{missing}");
    // Many are told of by a few, and do not hide what comes behind them.
    let many = "insert into tenure.locks select (jsonb_populate_record(copy, jsonb_build_object('name', \
                repeat('a', 600) || number))).* from copy, generate_series(1, 1200) number";
    sql(&url, many).await;
    let listed = store.list("", 10).await.unwrap();
    assert_eq!((listed.names.len(), listed.missing.len()), (1, 16));
    // They do not keep tenure from what is its own to do.
    sql(&url, "update tenure.locks set last_time = 1, expires = 1").await;
    store.sweep(Duration::from_millis(1)).await.unwrap();
    let kept = "select count(*) from tenure.locks where length(name) >= 600";
    assert_eq!(sql(&url, kept).await, ["1201"]);
}

#[tokio::test]
async fn a_table_that_somebody_locks_makes_a_call_fail_in_time_and_for_certain() {
    let url = fresh_database().await;
    let own = format!("{url}?response_timeout=1s");
    let one = tenure(&own);
    let held = hold(&one, "held", Duration::from_secs(30)).await;
    let locks = session(&url).await.unwrap();
    told(&locks, "begin; lock table tenure.locks").await.unwrap();
    let began = Instant::now();
    let failed = one.mutex("lock").try_lock().await.unwrap_err();
    assert!(matches!(failed, AcquireError::Unreachable { .. }), "{failed:?}");
    assert!(began.elapsed() < Duration::from_millis(1_800), "{:?}", began.elapsed());
    held.check().unwrap();
    told(&locks, "commit").await.unwrap();
    hold(&one, "lock", Duration::from_secs(5)).await.release().await.unwrap();
    held.release().await.unwrap();
}

#[tokio::test]
async fn a_row_that_somebody_keeps_locked_holds_up_no_other_renewal() {
    let url = fresh_database().await;
    let store = store(&format!("{url}?response_timeout=2s"));
    let holds = [("a", 1), ("b", 2)].map(|(lock, owner)| (name(lock), tries(owner)));
    for (lock, ask) in &holds {
        store.acquire(lock, ask).await.unwrap();
    }
    let ttl = Duration::from_secs(60);
    let renewals = holds.map(|(name, ask)| Renewal { name, owner: ask.owner, ttl });
    let stranger = session(&url).await.unwrap();
    let locks = "begin; select 1 from tenure.locks where name = 'a' for update";
    told(&stranger, locks).await.unwrap();
    let answers = store.renew(&renewals).await;
    let refused = answers[0].as_ref().unwrap_err();
    assert_eq!(refused.kind(), FaultKind::Unreachable, "{refused:#}");
    assert!(matches!(answers[1], Ok(Renewed::Renewed { .. })), "{:?}", answers[1]);
    told(&stranger, "rollback").await.unwrap();
    for answer in store.renew(&renewals).await {
        assert!(matches!(answer, Ok(Renewed::Renewed { .. })), "{answer:?}");
    }
}
