//! Tables are made while others make theirs.

use std::time::Duration;

use mysql_async::prelude::Queryable;
use tenure_mysql::{MysqlStore, schema};
use tenure_servers::MariadbServer;

use crate::support::{PATIENCE, outside, owner, run, take, until};

/// As of many hosts that start at once on a new database one does that is slow to commit.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_opens_although_another_makes_the_tables_for_longer_than_a_row_is_waited_for() {
    let server = MariadbServer::start();
    let (mut conn, mut other) = (outside(&server).await, outside(&server).await);
    run(&mut conn, &schema("tenure").unwrap()).await;
    run(&mut conn, "delete from tenure_meta").await;
    run(&mut other, "start transaction").await;
    run(&mut other, "insert into tenure_meta values (1, 1, 0, 0, x'00')").await;
    let url = format!("{}?connect_timeout=40s&response_timeout=40s", server.url());
    let opened = tokio::spawn(async move { MysqlStore::open(&url).await });
    let waits = "select concat(trx_mysql_thread_id, trx_started) from information_schema.innodb_trx \
                 where trx_state = 'LOCK WAIT'";
    let mut first = Vec::new();
    until("it waits anew", async || {
        // The server tells the same again to whoever asks sooner.
        tokio::time::sleep(Duration::from_millis(150)).await;
        let now: Vec<String> = conn.query(waits).await.unwrap();
        if first.is_empty() {
            first.clone_from(&now);
        }
        opened.is_finished() || !now.is_empty() && now != first
    })
    .await;
    run(&mut other, "commit").await;
    let store = tokio::time::timeout(PATIENCE, opened).await.unwrap().unwrap().unwrap();
    take(&store, "lock", owner(1)).await;
}
