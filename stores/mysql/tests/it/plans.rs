//! How many rows a server looks at.

use mysql_async::prelude::Queryable;
use tenure_core::{Store, store::Renewal};
use tenure_servers::MariadbServer;

use crate::support::{LONG, name, outside, owner, run, store, take};

/// As there are in the table.
const ROWS: u64 = 10_000;

/// A server that plans with little memory would look at all rows, unless it is told otherwise.
#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_looks_at_the_rows_of_its_names_alone() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    let little: &[_] = if server.is_mysql() {
        &["range_optimizer_max_mem_size = 100"]
    } else {
        &["in_predicate_conversion_threshold = 2", "optimizer_max_sel_arg_weight = 1"]
    };
    for setting in little {
        run(&mut conn, &format!("set global {setting}")).await;
    }
    let store = store(&server.url());
    let texts: Vec<_> = (1..=20).map(|number| format!("lock-{number}")).collect();
    for text in &texts {
        take(&store, text, owner(1)).await;
    }
    let others = "insert into tenure_locks (name, version, last_time, waiting) \
                  with recursive few as (select 1 as n union all select n + 1 from few where n < 100) \
                  select concat('other-', one.n, '-', two.n), 1, 1, 0 from few as one, few as two";
    run(&mut conn, others).await;
    // What is read, and what is put into tables for the time of a statement.
    let mut counted = async |what: &str| -> u64 {
        let status = format!("show global status like '{what}'");
        let rows: Vec<(String, u64)> = conn.query(status).await.unwrap();
        rows.into_iter().map(|(_, count)| count).sum()
    };
    let before = counted("Handler_read%next").await;
    let put_before = counted("Handler_tmp_write").await;
    let hold = |text: &String| Renewal { name: name(text), owner: owner(1), ttl: LONG };
    let holds: Vec<_> = texts.iter().map(hold).collect();
    for renewed in store.renew(&holds).await {
        let renewed = format!("{renewed:?}");
        assert!(renewed.contains("Renewed"), "{renewed}");
    }
    let put = counted("Handler_tmp_write").await - put_before;
    // A folder that is full would keep leases from being renewed.
    assert!(server.is_mysql() || put < 20, "{put} rows were put into other tables");
    let looked = counted("Handler_read%next").await - before;
    assert!(looked < ROWS / 2, "{looked} rows were looked at");
}

/// What a server takes at once is little, and the names are long.
#[tokio::test(flavor = "multi_thread")]
async fn more_holds_than_one_statement_has_room_for_are_all_renewed() {
    let server = MariadbServer::start_with(&["--max-allowed-packet=16K"]);
    let store = store(&server.url());
    let long = "x".repeat(300);
    let texts: Vec<_> = (1..=60).map(|number| format!("{long}{number}")).collect();
    for text in &texts {
        take(&store, text, owner(1)).await;
    }
    let hold = |text: &String| Renewal { name: name(text), owner: owner(1), ttl: LONG };
    let holds: Vec<_> = texts.iter().map(hold).collect();
    for renewed in store.renew(&holds).await {
        let renewed = format!("{renewed:?}");
        assert!(renewed.contains("Renewed"), "{renewed}");
    }
}
