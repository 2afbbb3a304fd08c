//! Callers that leave, look after something else, or are forked, cost nobody else anything.

use std::{pin::pin, task::Poll, time::Duration};

use fork::{Fork, fork, waitpid};
use mysql_async::{Conn, prelude::Queryable};
use tenure_core::{
    Store,
    proto::queue::{Answer, Intent},
};
use tenure_servers::MariadbServer;

use crate::{
    places::{fresh_url, server},
    support::{LONG, ask, name, outside, owner, process, run, sessions, store, take, until},
};

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
    // The list of transactions itself is not made anew for who asks too often.
    let waits = "select count(*) from information_schema.processlist where info like 'update tenure_locks%'";
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

/// Has the row of `text` until it is rolled back.
async fn locked(url: &str, text: &str) -> Conn {
    let tables = url.split("tables=").nth(1).unwrap();
    let mut conn = outside(server()).await;
    run(&mut conn, "begin").await;
    let lock = format!("select 1 from {tables}_locks where name = '{text}' for update");
    let _: Vec<u8> = conn.query(lock).await.unwrap();
    conn
}

/// A caller that has begun, and looks after something else since then, has a connection for a moment alone.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_looks_away_holds_up_nobody() {
    let url = fresh_url();
    let store = store(&format!("{url}&connections=1"));
    take(&store, "lock", owner(1)).await;
    let (lock, first) = (name("lock"), owner(1));
    let mut conn = locked(&url, "lock").await;
    let mut releases = pin!(store.release(&lock, &first, Duration::ZERO));
    assert!(futures_util::poll!(&mut releases).is_pending());
    run(&mut conn, "rollback").await;
    let is_free = async || store.inspect(&lock).await.unwrap().holders.is_empty();
    until("it is released", is_free).await;
    releases.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_whose_connection_is_made_while_it_looks_away_holds_up_nobody() {
    let store = store(&format!("{}&connections=1", fresh_url()));
    let lock = name("lock");
    let mut looks = pin!(store.inspect(&lock));
    assert!(futures_util::poll!(&mut looks).is_pending());
    store.inspect(&name("other")).await.unwrap();
    looks.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_let_in_while_it_looks_away_holds_up_nobody() {
    let url = fresh_url();
    let store = store(&format!("{url}&connections=1"));
    take(&store, "held", owner(1)).await;
    let (held, other, holder) = (name("held"), name("other"), owner(1));
    let mut conn = locked(&url, "held").await;
    let mut first = pin!(store.release(&held, &holder, Duration::ZERO));
    assert!(futures_util::poll!(&mut first).is_pending());
    let mut second = pin!(store.inspect(&other));
    assert!(futures_util::poll!(&mut second).is_pending());
    run(&mut conn, "rollback").await;
    first.await.unwrap();
    // The second one has its turn now.
    store.inspect(&held).await.unwrap();
    second.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_that_look_away_while_they_lock_hold_up_nobody() {
    let process = process(&fresh_url());
    let mut away: Vec<_> = (0..20)
        .map(|number| Box::pin(process.mutex(format!("away-{number}")).lock().into_future()))
        .collect();
    for one in &mut away {
        let _ = futures_util::poll!(one);
    }
    process.mutex("other").try_lock().await.unwrap().unwrap().release().await.unwrap();
}

/// One that leaves the line before its turn begins nothing.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_begun_for_a_caller_that_has_gone() {
    let url = fresh_url();
    let store = store(&format!("{url}&connections=1"));
    take(&store, "held", owner(1)).await;
    let (held, lock, holder) = (name("held"), name("lock"), owner(1));
    let mut conn = locked(&url, "held").await;
    let mut first = pin!(store.release(&held, &holder, Duration::ZERO));
    assert!(futures_util::poll!(&mut first).is_pending());
    let wants = ask(owner(2), Intent::Try, LONG);
    {
        let mut second = pin!(store.acquire(&lock, &wants));
        assert!(futures_util::poll!(&mut second).is_pending());
    }
    run(&mut conn, "rollback").await;
    first.await.unwrap();
    for _ in 0..20 {
        assert!(store.inspect(&lock).await.unwrap().holders.is_empty());
    }
}

/// What a child wrote to its parent's connection, the parent would take for an answer of its own.
#[tokio::test]
async fn a_forked_child_leaves_its_parents_connections_alone() {
    let url = fresh_url();
    let other = store(&url);
    take(&other, "held", owner(9)).await;
    take(&other, "free", owner(8)).await;
    other.release(&name("free"), &owner(8), Duration::ZERO).await.unwrap();
    let store = store(&format!("{url}&connections=1"));
    take(&store, "warm", owner(1)).await;
    let (free, wants) = (name("free"), ask(owner(2), Intent::Try, LONG));
    match fork().unwrap() {
        Fork::Child => {
            let mut acquires = store.acquire(&free, &wants);
            let answer = futures_util::poll!(&mut acquires);
            drop(acquires);
            let is_refused =
                matches!(answer, Poll::Ready(Err(fault)) if fault.message().contains("forked"));
            // In order, as far as a child can: with all that it has dropped, and what that began carried out.
            drop(store);
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            std::process::exit(if is_refused { 0 } else { 1 });
        }
        Fork::Parent(child) => assert_eq!(waitpid(child).unwrap(), 0, "it is refused"),
    }
    let answer = store.acquire(&name("held"), &ask(owner(3), Intent::Try, LONG)).await.unwrap();
    assert!(!matches!(answer, Answer::Granted { .. }), "{answer:?}");
    let seen = store.inspect(&name("free")).await.unwrap();
    assert!(seen.holders.is_empty(), "{seen:?}");
}
