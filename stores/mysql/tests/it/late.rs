//! An answer that comes too late is nobody's.

use std::{pin::pin, time::Duration};

use mysql_async::prelude::Queryable;
use tenure_core::{FaultKind, Store, proto::queue::Intent};
use tenure_testkit::server::MariadbServer;

use crate::{
    places::{fresh_url, server},
    support::{
        LONG, ask, hold, label, name, outside, owner, process, run, sessions, store, take, until,
    },
};

/// Each call has an answer of its own name, also right after calls that nobody waited for to the end.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_came_too_late_leaves_its_answer_to_no_other() {
    let server = MariadbServer::start();
    let url = format!("{}?response_timeout=250ms&connections=1", server.url());
    // Reads of different names, so that an answer tells which one it belongs to.
    let patient = store(&server.url());
    for number in 1..=20 {
        take(&patient, &format!("lock-{number}"), owner(number)).await;
    }
    let store = store(&url);
    let look = async |number: u8| {
        let seen = store.inspect(&name(&format!("lock-{number}"))).await?;
        assert_eq!(seen.holders[0].label, label(owner(number)), "an answer of another call");
        Ok::<_, tenure_core::Fault>(())
    };
    for round in 0..5 {
        until("the server is there", async || look(20).await.is_ok()).await;
        server.freeze();
        // Its threads do not all stop at once.
        let late = loop {
            if let Err(late) = look(1 + round).await {
                break late;
            }
        };
        assert_eq!(late.kind(), FaultKind::Unreachable, "{late}");
        server.go_on();
        for number in 1..=20 {
            until("the server is there again", async || look(number).await.is_ok()).await;
        }
    }
    // What writes is in doubt.
    server.freeze();
    let ask = ask(owner(99), Intent::Try, LONG);
    let late = loop {
        if let Err(late) = store.acquire(&name("new"), &ask).await {
            break late;
        }
    };
    assert!([FaultKind::InDoubt, FaultKind::Unreachable].contains(&late.kind()), "{late}");
    server.go_on();
    for number in 1..=20 {
        until("the server is there again", async || look(number).await.is_ok()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_a_locked_row_is_in_doubt_and_holds_up_nobody() {
    let url = fresh_url();
    let patient = store(&url);
    let store = store(&format!("{url}&response_timeout=300ms&connections=1"));
    for number in 1..=3 {
        take(&patient, &format!("lock-{number}"), owner(number)).await;
    }
    let tables = url.split("tables=").nth(1).unwrap();
    let mut conn = outside(server()).await;
    run(&mut conn, "begin").await;
    let lock = format!("select 1 from {tables}_locks where name = 'lock-1' for update");
    let _: Vec<u8> = conn.query(&lock).await.unwrap();
    until("the server is there", async || store.inspect(&name("lock-2")).await.is_ok()).await;
    let late = store.release(&name("lock-1"), &owner(1), Duration::ZERO).await.unwrap_err();
    assert_eq!(late.kind(), FaultKind::InDoubt, "{late}");
    for number in 2..=3 {
        store
            .release(&name(&format!("lock-{number}")), &owner(number), Duration::ZERO)
            .await
            .unwrap();
    }
    run(&mut conn, "rollback").await;
    let released = async || store.release(&name("lock-1"), &owner(1), Duration::ZERO).await.is_ok();
    until("it is released", released).await;
}

/// A caller that leaves, with its runtime, costs neither the call nor the connection.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_its_caller_leaves_is_carried_on_to_its_end() {
    let server = MariadbServer::start();
    let store = store(&format!("{}?connections=1", server.url()));
    take(&store, "lock", owner(1)).await;
    let mut conn = outside(&server).await;
    let before = sessions(&mut conn).await;
    run(&mut conn, "begin").await;
    let lock = "select 1 from tenure_locks where name = 'lock' for update";
    let _: Vec<u8> = conn.query(lock).await.unwrap();
    let mut caller = tokio::runtime::Builder::new_multi_thread();
    let caller = caller.worker_threads(1).enable_time().build().unwrap();
    let releases = store.clone();
    let left = caller.spawn(async move {
        let _ = releases.release(&name("lock"), &owner(1), Duration::ZERO).await;
    });
    let mut other = outside(&server).await;
    let waits = "select count(*) from information_schema.innodb_trx where trx_state = 'LOCK WAIT'";
    let waiting = async || other.query_first::<i64, _>(waits).await.unwrap() == Some(1);
    until("it waits for the row", waiting).await;
    caller.shutdown_background();
    left.await.unwrap_err();
    run(&mut conn, "rollback").await;
    let is_free = async || store.inspect(&name("lock")).await.unwrap().holders.is_empty();
    until("it is released", is_free).await;
    let after = sessions(&mut conn).await;
    assert!(before.iter().all(|session| after.contains(session)), "{before:?}, {after:?}");
}

/// A caller that has begun, and looks after something else since then, has a connection for a moment alone.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_looks_away_holds_up_nobody() {
    let store = store(&format!("{}&connections=1", fresh_url()));
    take(&store, "lock", owner(1)).await;
    let (lock, first) = (name("lock"), owner(1));
    let mut releases = pin!(store.release(&lock, &first, Duration::ZERO));
    assert!(futures_util::poll!(&mut releases).is_pending());
    let is_free = async || store.inspect(&lock).await.unwrap().holders.is_empty();
    until("it is released", is_free).await;
    releases.await.unwrap();
}

/// All connections of callers wait for a row that somebody locked.
#[tokio::test(flavor = "multi_thread")]
async fn renewals_wait_for_no_other_call() {
    let url = fresh_url();
    let process = process(&format!("{url}&connections=1"));
    let held = process.mutex("held").ttl(Duration::from_secs(3)).lock().await.unwrap();
    let other = hold(&process, "locked").await;
    other.release().await.unwrap();
    let tables = url.split("tables=").nth(1).unwrap();
    let mut conn = outside(server()).await;
    run(&mut conn, "begin").await;
    let lock = format!("select 1 from {tables}_locks where name = 'locked' for update");
    let _: Vec<u8> = conn.query(&lock).await.unwrap();
    let waits = tokio::spawn({
        let process = process.clone();
        async move { while process.mutex("locked").try_lock().await.is_err() {} }
    });
    for _ in 0..3 {
        let before = held.deadline();
        until("it is renewed", async || held.deadline() > before).await;
        assert!(held.check().is_ok());
    }
    run(&mut conn, "rollback").await;
    waits.await.unwrap();
}
