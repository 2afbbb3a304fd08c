//! Sessions that end as soon as they have begun, and holds in a session that has just begun.

use std::time::{Duration, Instant};

use tenure_core::Store;
use tenure_servers::{
    ZookeeperServer,
    lying::{Protocol, RogueServer},
};

use crate::support::{hold, name, path, quiet_server, store, tenure, until};

#[tokio::test]
async fn sessions_that_end_at_once_follow_each_other_after_pauses() {
    let server = ZookeeperServer::start();
    let ends = "sessions that end as soon as they have begun";
    let lie = Protocol::Zookeeper.lies().into_iter().find(|lie| lie.name == ends).unwrap();
    let liar = RogueServer::start(lie, Some(server.address()));
    let store = store(&format!("zookeeper://{}{}", liar.address(), path()));
    store.inspect(&name("a")).await.unwrap();
    liar.lie();
    let (from, mut calls) = (Instant::now(), 0);
    while from.elapsed() < Duration::from_secs(3) {
        store.inspect(&name("a")).await.unwrap_err();
        calls += 1;
    }
    assert!((3..=20).contains(&calls), "{calls} sessions began");
}

/// Two ticks are the shortest session that servers grant. A write in its first tick counts too.
#[tokio::test(flavor = "multi_thread")]
async fn a_hold_in_a_session_of_two_ticks_is_renewed() {
    let url = format!("zookeeper://{}{}?session=4s&tick=2s", quiet_server().address(), path());
    let guard = hold(&tenure(&url), "a").await;
    let granted = guard.deadline();
    until("it is renewed", async || {
        guard.check().unwrap();
        guard.deadline().since(granted) > Duration::from_secs(2)
    })
    .await;
    guard.release().await.unwrap();
}
