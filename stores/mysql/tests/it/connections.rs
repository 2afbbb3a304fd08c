//! How many connections a process has.

use std::time::Duration;

use mysql_async::{Conn, prelude::Queryable};
use tenure_servers::MariadbServer;

use crate::support::{PATIENCE, outside, process, sessions, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_process_with_one_lock_has_two_connections_whether_it_holds_or_waits() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    let (holder, waiter) = (process(&server.url()), process(&server.url()));
    let guard = holder.mutex("lock").lock().ttl(Duration::from_secs(2)).await.unwrap();
    let first = guard.deadline();
    until("it is renewed", async || guard.deadline() != first).await;
    assert!(sessions(&mut conn).await.len() <= 2);
    let lock = waiter.mutex("lock").lock().wait(PATIENCE);
    let waits = tokio::spawn(async move { lock.await.unwrap().release().await });
    until("somebody waits", async || {
        holder.mutex("lock").inspect().await.is_ok_and(|look| !look.waiters.is_empty())
    })
    .await;
    let second = guard.deadline();
    until("it is renewed again", async || guard.deadline() != second).await;
    // Renewals and looks that meet open one more for a while.
    until("there are two of each", async || sessions(&mut conn).await.len() <= 4).await;
    guard.release().await.unwrap();
    waits.await.unwrap().unwrap();
}

/// Servers note each connection that ends without a word.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_ends_says_goodbye() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    let aborted = async |conn: &mut Conn| -> String {
        let told: Option<(String, String)> =
            conn.query_first("show global status like 'Aborted_clients'").await.unwrap();
        told.unwrap().1
    };
    let before = aborted(&mut conn).await;
    let one = process(&server.url());
    one.mutex("lock").lock().await.unwrap().release().await.unwrap();
    assert!(!sessions(&mut conn).await.is_empty());
    drop(one);
    until("they are gone", async || sessions(&mut conn).await.is_empty()).await;
    assert_eq!(aborted(&mut conn).await, before);
}
