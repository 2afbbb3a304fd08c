//! What was asked for is under way, and whoever asked is gone by the time that it is done.

use std::time::Duration;

use mysql_async::prelude::Queryable;
use tenure_core::AcquireError;
use tenure_servers::MariadbServer;

use crate::support::{LONG, PATIENCE, hold, outside, process, run, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_waits_for_what_was_asked_for_and_given_up_however_long_it_takes() {
    let server = MariadbServer::start();
    let url = server.url();
    hold(&process(&url), "lock").await.release().await.unwrap();
    let mut looks = outside(&server).await;
    let slow = "create trigger slow before update on tenure_locks for each row \
                if new.owner is not null then do sleep(3); end if";
    run(&mut looks, slow).await;
    let under_way =
        "select count(*) from information_schema.processlist where state = 'User sleep'";
    let mut is_under_way = async || looks.query_first::<i64, _>(under_way).await.unwrap() > Some(0);
    let leaves = process(&format!("{url}?response_timeout=40s"));
    let asks = leaves.mutex("lock").ttl(LONG);
    let asked = tokio::spawn(async move { asks.lock().await.map(drop) });
    until("it is under way", &mut is_under_way).await;
    asked.abort();
    leaves.shutdown(PATIENCE).await.unwrap();
    assert!(!is_under_way().await, "it is under way still");
    let held = "select count(*) from tenure_locks where owner is not null";
    let held = looks.query_first::<i64, _>(held).await.unwrap();
    assert_eq!(held, Some(0), "nobody is there who holds it");
}

/// The server does not notice that a connection is gone, and goes on as soon as it can.
#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_a_lock_for_longer_than_an_answer_is_waited_for_is_taken_back_as_well() {
    let server = MariadbServer::start();
    let url = server.url();
    hold(&process(&url), "lock").await.release().await.unwrap();
    let (mut stranger, mut looks) = (outside(&server).await, outside(&server).await);
    run(&mut stranger, "start transaction").await;
    run(&mut stranger, "update tenure_locks set version = version").await;
    let leaves = process(&format!("{url}?response_timeout=500ms"));
    let asked = leaves.mutex("lock").ttl(LONG).try_lock().await;
    let error = asked.expect_err("somebody has the row locked");
    assert!(matches!(error, AcquireError::InDoubt(_)), "{error:?}");
    let mut ends = tokio::spawn(async move { leaves.shutdown(PATIENCE).await });
    let early = tokio::time::timeout(Duration::from_millis(200), &mut ends).await;
    run(&mut stranger, "rollback").await;
    if early.is_err() {
        ends.await.unwrap().unwrap();
    }
    let waits = "select count(*) from information_schema.processlist where info like 'update%tenure_locks%'";
    until("nothing is under way", async || {
        looks.query_first::<i64, _>(waits).await.unwrap() == Some(0)
    })
    .await;
    let held = "select count(*) from tenure_locks where owner is not null";
    let held = looks.query_first::<i64, _>(held).await.unwrap();
    assert_eq!(held, Some(0), "nobody is there who holds it");
}
