//! Waiters whom no wake-up reaches: those that died, and those that live and may not listen.

use std::{
    future::IntoFuture,
    time::{Duration, Instant},
};

use tenure_core::Store;
use tenure_servers::{RedisServer, redis::Reply};

use crate::{
    child::Process,
    support::{PATIENCE, hold, name, store, tenure, until},
};

const TTL: Duration = Duration::from_secs(60);

/// How long a waiter behind dead ones waits from the release on.
async fn idle_behind(dead: usize) -> Duration {
    let server = RedisServer::start();
    let tenure = tenure(&server.url());
    let store = store(&server.url());
    let are_in_line = async |count| {
        store.inspect(&name("lock")).await.is_ok_and(|seen| seen.waiters.len() == count)
    };
    let holder = hold(&tenure, "lock", TTL).await;
    let mut waiters = Vec::new();
    for count in 1..=dead {
        waiters.push(Process::start(&["hold", &server.url(), "60000"]));
        until("it waits", async || are_in_line(count).await).await;
    }
    let others = crate::support::tenure(&server.url());
    let waiting = others.mutex("lock").ttl(TTL).wait(PATIENCE).lock().into_future();
    let survivor = tokio::spawn(waiting);
    until("it waits behind them", async || are_in_line(dead + 1).await).await;
    for waiter in &mut waiters {
        waiter.kill();
    }
    let channels = ["PUBSUB", "CHANNELS", "tenure:wake:*"];
    until(
        "their connections are gone",
        async || matches!(server.command(&channels), Reply::List(heard) if heard.len() <= 2),
    )
    .await;
    let released = Instant::now();
    holder.release().await.unwrap();
    drop(survivor.await.unwrap().unwrap());
    released.elapsed()
}

/// Each offer alone would take half a second. A busy machine may hold up one try, not all of them.
#[tokio::test]
async fn waiters_that_died_hold_up_nobody() {
    for dead in [1, 6] {
        let mut idle = Duration::MAX;
        for _ in 0..5 {
            idle = idle.min(idle_behind(dead).await);
            if idle < Duration::from_millis(450) {
                break;
            }
        }
        assert!(idle < Duration::from_millis(450), "{dead} dead, idle for {idle:?}");
    }
}

/// Two others pass the lock on between them all the time, and hear of each turn at once.
#[tokio::test]
async fn a_waiter_that_may_not_listen_gets_its_turn() {
    let server = RedisServer::start();
    server.command(&["ACL", "SETUSER", "deaf", "on", ">word", "~*", "&*", "+@all", "-subscribe"]);
    let deaf = tenure(&server.url().replace("redis://", "redis://deaf:word@"));
    let others: Vec<_> = (0..3)
        .map(|_| {
            let other = tenure(&server.url());
            tokio::spawn(async move {
                loop {
                    let guard = other.mutex("lock").fair().lock().await.unwrap();
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    guard.release().await.unwrap();
                }
            })
        })
        .collect();
    for _ in 0..3 {
        let guard = deaf.mutex("lock").fair().wait(PATIENCE).lock().await.unwrap();
        guard.release().await.unwrap();
    }
    others.iter().for_each(|other| other.abort());
}
