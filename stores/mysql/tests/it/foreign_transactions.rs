//! Transactions of others that are in the way.

use std::time::Duration;

use mysql_async::{Conn, prelude::Queryable};
use tenure_core::{
    Store,
    proto::queue::{Intent, Together},
    store::Renewal,
};

use tenure_mysql::{Mysql, MysqlOptions};
use tenure_sql::{Database, FromOptions, Notifications, Row};

use crate::{
    places::{fresh_url, server},
    support::{LONG, ask, name, outside, owner, run, store, take},
};

/// A transaction of somebody else that has locked a row.
pub(crate) async fn locked(tables: &str, row: &str) -> Conn {
    let mut conn = outside(server()).await;
    run(&mut conn, "begin").await;
    let lock = format!("select 1 from {tables}_locks where name = '{row}' for update");
    let _: Vec<u8> = conn.query(&lock).await.unwrap();
    conn
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_is_locked_for_a_while_is_waited_for() {
    let url = fresh_url();
    let store = store(&url);
    let tables = url.split("tables=").nth(1).unwrap();
    for text in ["a", "b"] {
        take(&store, text, owner(1)).await;
    }
    let mut conn = locked(tables, "a").await;
    let later = tokio::spawn(async move {
        // The server gives up after a second.
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        run(&mut conn, "rollback").await;
    });
    let holds = ["b", "a"].map(|text| Renewal { name: name(text), owner: owner(1), ttl: LONG });
    let renewed = store.renew(&holds).await;
    assert!(
        renewed.iter().all(|renewed| format!("{renewed:?}").contains("Renewed")),
        "{renewed:?}"
    );
    later.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadlock_leaves_all_names_granted_or_none() {
    let url = fresh_url();
    let store = store(&url);
    let tables = url.split("tables=").nth(1).unwrap();
    for text in ["a", "b"] {
        take(&store, text, owner(9)).await;
        store.release(&name(text), &owner(9), Duration::ZERO).await.unwrap();
    }
    let mut deadlocks = 0;
    for round in 1..=5 {
        let mut conn = locked(tables, "b").await;
        // Makes the other transaction the cheaper one to undo.
        run(
            &mut conn,
            &format!(
                "insert into {tables}_locks (name, version, last_time, waiting) \
                 with recursive filler as (select 1 as n union all select n + 1 from filler where n < 200) \
                 select concat('filler-', n), 1, 1, 0 from filler"
            ),
        )
        .await;
        let asks = [("a", 2 * round), ("b", 2 * round + 1)]
            .map(|(text, number)| (name(text), ask(owner(number), Intent::Try, LONG)));
        let together = tokio::spawn({
            let (store, asks) = (store.clone(), asks.clone());
            async move { store.acquire_together(&asks).await }
        });
        // It has the first row then, and waits for the second.
        let waits =
            "select count(*) from information_schema.innodb_trx where trx_state = 'LOCK WAIT'";
        let mut looks = outside(server()).await;
        crate::support::until("it waits", async || {
            // The server looks anew only if nobody asked for a while.
            tokio::time::sleep(Duration::from_millis(150)).await;
            looks.query_first::<u8, _>(waits).await.unwrap() > Some(0)
        })
        .await;
        let crossed = conn
            .query_drop(format!("update {tables}_locks set label = label where name = 'a'"))
            .await;
        let crossed_too = conn
            .query_drop(format!("select 1 from {tables}_locks where name = 'a' for update"))
            .await;
        let _ = conn.query_drop("rollback").await;
        let answer = together.await.unwrap().unwrap();
        deadlocks += u32::from(crossed.is_ok() && crossed_too.is_ok());
        let granted = matches!(answer, Together::Granted(_));
        for (text, ask) in &asks {
            let holders = store.inspect(text).await.unwrap().holders;
            assert_eq!(holders.len(), usize::from(granted), "{answer:?}");
            assert!(holders.iter().all(|holder| holder.label == ask.label));
            store.release(text, &ask.owner, Duration::ZERO).await.unwrap();
        }
        assert!(granted, "it is tried again: {answer:?}");
    }
    assert!(deadlocks > 0, "ours was never the one that is undone");
}

/// The first of the rows is as it was seen, the second is not.
#[tokio::test(flavor = "multi_thread")]
async fn of_several_rows_all_are_written_or_none() {
    let url = fresh_url();
    let database = Mysql::with_options(MysqlOptions::from_url(&url).unwrap()).unwrap();
    let row = |version| Row { version, last_time: 7, ..Row::default() };
    let none = Notifications::default();
    let version = async |text| database.read(&name(text)).await.unwrap().row.version;
    for second in [1, 5] {
        let rows = [(name("a"), row(1)), (name("b"), row(second))];
        assert_eq!(database.write_all(&rows, &none).await.unwrap(), second == 1);
        database.raise_floor(7).await.unwrap();
        database.remove(&name("a"), version("a").await).await.unwrap();
        assert_eq!(version("a").await, 0);
        assert!(version("b").await > 0);
    }
    // And with changes of rows that are there.
    let before = version("b").await;
    let rows = [(name("b"), row(before + 1)), (name("c"), row(9))];
    assert!(!database.write_all(&rows, &none).await.unwrap());
    assert_eq!(version("b").await, before, "it was undone");
    assert!(!database.write(&name("b"), &row(before + 2), &none).await.unwrap(), "another version");
    assert!(database.write(&name("b"), &row(before + 1), &none).await.unwrap());
}
