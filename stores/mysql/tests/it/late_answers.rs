//! An answer that comes too late is nobody's.

use std::{sync::Arc, time::Duration};

use mysql_async::prelude::Queryable;
use tenure_core::{
    FaultKind, Store, Tenure,
    proto::{Renewed, queue::Intent},
    store::Renewal,
};
use tenure_mysql::MysqlStore;
use tenure_servers::MariadbServer;
use tenure_testkit::fault::{Proxy, Weather};
use tokio::time::Instant;

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

/// The server goes on about when the calls give up: what is said to have had no effect has none, then or later.
#[tokio::test(flavor = "multi_thread")]
async fn what_certainly_had_no_effect_has_none_later() {
    const CALLS: u8 = 16;
    let server = MariadbServer::start();
    let patient = store(&server.url());
    let lock = |number: u8| name(&format!("lock-{number}"));
    for number in 1..=CALLS {
        take(&patient, lock(number).as_str(), owner(number)).await;
        patient.release(&lock(number), &owner(number), Duration::ZERO).await.unwrap();
    }
    for round in 0..4 {
        let hasty = store(&format!("{}?response_timeout=400ms&connections={CALLS}", server.url()));
        // Connections that have prepared no more than a look.
        let looks = (1..=CALLS).map(|number| {
            let hasty = &hasty;
            async move { hasty.inspect(&lock(number)).await.is_ok() }
        });
        futures_util::future::join_all(looks).await;
        server.freeze();
        let limit = Instant::now() + Duration::from_millis(400);
        let calls = (1..=CALLS).map(|number| {
            let (hasty, owner) = (hasty.clone(), owner(100 + number));
            tokio::spawn(async move {
                hasty.acquire(&lock(number), &ask(owner, Intent::Try, LONG)).await
            })
        });
        let calls: Vec<_> = calls.collect();
        tokio::time::sleep_until(limit - Duration::from_millis(6 - round)).await;
        server.go_on();
        let said = futures_util::future::join_all(calls).await;
        let all = async || patient.inspect(&lock(1)).await.is_ok();
        until("the server is there", all).await;
        for (number, said) in (1..=CALLS).zip(said) {
            if matches!(said.unwrap(), Err(fault) if fault.kind() == FaultKind::Unreachable) {
                let seen = patient.inspect(&lock(number)).await.unwrap();
                assert!(seen.holders.is_empty(), "lock-{number} in round {round}: {seen:?}");
            }
            patient.evict(&lock(number)).await.unwrap();
        }
    }
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

/// A proxy before a server, and the URL by which it is reached.
fn behind_proxy(server: &MariadbServer) -> (Proxy, String) {
    let behind = server.url().split(['@', '/']).nth(3).unwrap().parse().unwrap();
    let proxy = Proxy::start(behind, 1).unwrap();
    let url = server.url().replace(&behind.to_string(), &proxy.address().to_string());
    (proxy, url)
}

/// Each answer takes longer than a fourteenth of the ttl, and a renewal has several.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hold_is_kept_over_a_long_way_to_the_server() {
    let server = MariadbServer::start();
    let (proxy, url) = behind_proxy(&server);
    // To make tables and connections takes many answers, which no lease is to wait for.
    let store = MysqlStore::open(&url).await.unwrap();
    proxy.set(Weather { delay: Duration::from_millis(185), ..Weather::default() });
    let process = Tenure::new(Arc::new(store));
    let guard = process.mutex("a").ttl(Duration::from_secs(5)).lock().await.unwrap();
    let over = Instant::now() + Duration::from_secs(15);
    while Instant::now() < over {
        guard.check().unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Over a long way each takes as long as the way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_is_two_messages_whether_or_not_its_connection_was_used_of_late() {
    let server = MariadbServer::start();
    let (proxy, url) = behind_proxy(&server);
    let store = store(&url);
    take(&store, "lock", owner(1)).await;
    let engine = store.for_engine();
    let hold = [Renewal { name: name("lock"), owner: owner(1), ttl: LONG }];
    let renew = async || {
        let before = proxy.requests();
        let renewed = engine.renew(&hold).await;
        assert!(matches!(renewed[..], [Ok(Renewed::Renewed { .. })]), "{renewed:?}");
        proxy.requests() - before
    };
    // It may make its connection.
    renew().await;
    assert_eq!(renew().await, 2);
    // So long that it is to be seen whether the connection is still ours.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    assert_eq!(renew().await, 2);
}

/// What was closed while nobody used it costs no lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_goes_by_another_connection_where_those_that_there_were_are_gone() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    let store = store(&server.url());
    take(&store, "lock", owner(1)).await;
    let engine = store.for_engine();
    let hold = [Renewal { name: name("lock"), owner: owner(1), ttl: LONG }];
    let renewed = async || {
        let renewed = engine.renew(&hold).await;
        assert!(matches!(renewed[..], [Ok(Renewed::Renewed { .. })]), "{renewed:?}");
    };
    // Several, since looks have a connection beside renewals.
    let looks = (0..2).map(|_| engine.inspect(&hold[0].name));
    let (looked, ()) = tokio::join!(futures_util::future::join_all(looks), renewed());
    looked.into_iter().for_each(|looked| drop(looked.unwrap()));
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    for session in sessions(&mut conn).await {
        run(&mut conn, &format!("kill {session}")).await;
    }
    renewed().await;
}
