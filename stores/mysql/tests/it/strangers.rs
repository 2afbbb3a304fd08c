//! What somebody else has under one of our names stays as it is.

use mysql_async::{Conn, Row, prelude::Queryable};
use tenure_core::FaultKind;
use tenure_mysql::{MysqlStore, schema};
use tenure_servers::MariadbServer;

use crate::support::{outside, owner, run, take};

/// Something of a shop's, and whether locks can be kept beside it.
const STRANGERS: [(&str, bool); 10] = [
    ("create view orders_holders as select 1 as one", true),
    (
        "create view orders_holders as select 'me' as name, 1 as label, 2 as token, 3 as since, 4 as expires, \
         5 as waiting, 6 as and_others",
        true,
    ),
    ("create table orders_holders (name varchar(9) primary key)", true),
    ("create table orders_locks (id int primary key, name varchar(9))", false),
    ("create table orders_locks (name varbinary(512) not null primary key) engine = InnoDB", false),
    ("create view orders_locks as select 1 as name", false),
    ("create table orders_meta (one int primary key, format int)", false),
    ("create table orders_meta (format int)", false),
    ("create view orders_meta as select 1 as format", false),
    ("create table orders_meta (name varchar(9), value text)", false),
];

/// A database that nobody else has used.
async fn fresh(conn: &mut Conn, number: usize) -> String {
    let database = format!("shop_{number}");
    run(conn, &format!("create database {database}; use {database}")).await;
    database
}

/// All that there is, as it was made, with its rows.
async fn everything(conn: &mut Conn) -> Vec<String> {
    let names: Vec<String> = conn.query("show tables").await.unwrap();
    let mut all = Vec::new();
    for name in names {
        let made: Row =
            conn.query_first(format!("show create table {name}")).await.unwrap().unwrap();
        let made: Vec<_> = made.unwrap().iter().map(|value| value.as_sql(true)).collect();
        let rows: Vec<Row> = conn.query(format!("select * from {name}")).await.unwrap();
        let rows: Vec<_> =
            rows.into_iter().flat_map(Row::unwrap).map(|value| value.as_sql(true)).collect();
        all.push(format!("{made:?} {rows:?}"));
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_of_somebody_else_stays_as_it_is() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    let sequence = ("create sequence orders_locks", false);
    let of_mariadb = (!server.is_mysql()).then_some(sequence);
    for (number, (stranger, works)) in STRANGERS.into_iter().chain(of_mariadb).enumerate() {
        let database = fresh(&mut conn, number).await;
        let url =
            format!("{}?tables=orders", server.url().replace("/tenure", &format!("/{database}")));
        run(&mut conn, stranger).await;
        let before = everything(&mut conn).await;
        let opened = MysqlStore::open(&url).await;
        let after = everything(&mut conn).await;
        assert!(before.iter().all(|one| after.contains(one)), "{stranger}: {before:?} {after:?}");
        match opened {
            Ok(store) => {
                assert!(works, "{stranger}");
                take(&store, "lock", owner(1)).await;
            }
            Err(fault) => {
                assert!(!works, "{stranger}: {fault:#}");
                assert_eq!(before, after, "{stranger}: nothing is made beside it");
                assert_eq!(fault.kind(), FaultKind::Misconfigured, "{stranger}: {fault:#}");
                let said = format!("{fault:#}");
                let is_clear = said.contains("tables=") && !said.contains("alter table");
                assert!(is_clear, "{stranger}: {said}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_printed_statements_leave_it_alone_too() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    let printed = schema("orders").unwrap();
    for (number, (stranger, works)) in STRANGERS.into_iter().enumerate() {
        fresh(&mut conn, number).await;
        run(&mut conn, stranger).await;
        let before = everything(&mut conn).await;
        // A view of the same name is an error on some servers, and none on others.
        let ran = conn.query_drop(&printed).await;
        let after = everything(&mut conn).await;
        assert!(before.iter().all(|one| after.contains(one)), "{stranger}: {before:?} {after:?}");
        assert!(works || ran.is_err(), "{stranger}: it ends there");
        // What holds the locks is made first.
        let is_first = stranger.contains("orders_locks");
        assert!(!is_first || before == after, "{stranger}: {before:?} {after:?}");
    }
    fresh(&mut conn, STRANGERS.len()).await;
    // Twice they are what they are once.
    run(&mut conn, &printed).await;
    let once = everything(&mut conn).await;
    let again = conn.query_drop(&printed).await;
    let version: String = conn.query_first("select version()").await.unwrap().unwrap();
    assert!(again.is_ok() || version.starts_with("8."), "{again:?}");
    assert_eq!(everything(&mut conn).await, once);
}
