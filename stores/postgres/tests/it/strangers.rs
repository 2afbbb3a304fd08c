//! What somebody else has under one of our names stays as it is.

use tenure_core::{FaultKind, Store};
use tenure_postgres::{PostgresStore, schema};

use crate::support::{fresh_database, name, session, sql, told, tries};

/// Something of a shop's in a schema that it has, and whether locks can be kept beside it.
const STRANGERS: [(&str, bool); 14] = [
    ("create view orders.holders as select 1 as one", true),
    (
        "create view orders.holders as select ''::text as name, ''::text as label, 1::bigint as token, now() as since, \
         now() as expires, 1 as waiting, true as and_others",
        true,
    ),
    ("create table orders.holders (name text primary key)", true),
    ("create sequence orders.holders", true),
    ("create domain orders.holders as text", true),
    ("create table orders.lines (id int); create index holders on orders.lines (id)", true),
    ("create table orders.locks (id int primary key, name text)", false),
    ("create view orders.locks as select 1 as name", false),
    ("create sequence orders.locks", false),
    ("create domain orders.locks as text", false),
    ("create table orders.meta (one boolean primary key, format int)", false),
    ("create table orders.meta (name text, value text)", false),
    ("create view orders.meta as select 1 as format", false),
    ("create type orders.meta as enum ('a')", false),
];

/// All that is in the schema, and how views are made.
async fn everything(url: &str) -> Vec<String> {
    let all = "select c.relname || c.relkind::text || case c.relkind when 'v' then pg_get_viewdef(c.oid) else '' end \
               || coalesce((select string_agg(attname || atttypid, ',' order by attnum) from pg_attribute \
               where attrelid = c.oid and attnum > 0), '') \
               from pg_class c where relnamespace = 'orders'::regnamespace and relkind <> 'i' \
               union all select typname || typtype::text from pg_type \
               where typnamespace = 'orders'::regnamespace and typtype <> 'c' and typcategory <> 'A' order by 1";
    sql(url, all).await
}

#[tokio::test]
async fn what_is_of_somebody_else_stays_as_it_is() {
    for (stranger, works) in STRANGERS {
        let url = fresh_database().await;
        sql(&url, &format!("create schema orders; {stranger}")).await;
        let before = everything(&url).await;
        let opened = PostgresStore::open(&format!("{url}?lock_schema=orders")).await;
        let after = everything(&url).await;
        assert!(before.iter().all(|one| after.contains(one)), "{stranger}: {before:?} {after:?}");
        match opened {
            Ok(store) => {
                assert!(works, "{stranger}");
                store.acquire(&name("lock"), &tries(1)).await.unwrap();
            }
            Err(fault) => {
                assert!(!works, "{stranger}: {fault:#}");
                assert_eq!(before, after, "{stranger}: nothing is made beside it");
                assert_eq!(fault.kind(), FaultKind::Misconfigured, "{stranger}: {fault:#}");
                assert!(format!("{fault:#}").contains("another schema"), "{stranger}: {fault:#}");
            }
        }
    }
}

#[tokio::test]
async fn the_printed_statements_leave_it_alone_too() {
    let printed = schema("orders").unwrap();
    for (stranger, works) in STRANGERS {
        let url = fresh_database().await;
        sql(&url, &format!("create schema orders; {stranger}")).await;
        let before = everything(&url).await;
        let runs = session(&url).await.unwrap();
        // As psql does, which goes on behind an error unless it is told not to.
        let mut failed = false;
        for statement in statements(&printed) {
            failed |= told(&runs, &statement).await.is_err();
        }
        let after = everything(&url).await;
        assert!(before.iter().all(|one| after.contains(one)), "{stranger}: {before:?} {after:?}");
        assert_eq!(failed, !works, "{stranger}");
        assert!(works || before == after, "{stranger}: {before:?} {after:?}");
    }
    // Twice they are what they are once.
    let url = fresh_database().await;
    sql(&url, &printed).await;
    let once = everything(&url).await;
    assert!(once.iter().any(|made| made.contains("holders")), "{once:?}");
    sql(&url, &printed).await;
    assert_eq!(everything(&url).await, once);
}

/// One by one. Those between `$$` have semicolons of their own.
fn statements(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    for (number, part) in text.split("$$").enumerate() {
        let is_inside = number % 2 == 1;
        for (number, piece) in part.split(';').enumerate() {
            if number > 0 && !is_inside {
                all.push(String::new());
            }
            let last = all.last_mut().unwrap();
            last.push_str(if number > 0 && is_inside { ";" } else { "" });
            last.push_str(piece);
        }
        if number + 1 < text.split("$$").count() {
            all.last_mut().unwrap().push_str("$$");
        }
    }
    all
}
