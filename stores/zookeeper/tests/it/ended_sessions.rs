//! Sessions that end as soon as they have begun, and holds in a session that has just begun.

use std::time::{Duration, Instant};

use tenure_core::{Guard, Store};
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
    let tenure = tenure(&url);
    // A machine that does other things can stand still for as long as such a session lasts.
    for _ in 0..5 {
        let guard = hold(&tenure, "a").await;
        if is_renewed(&guard).await {
            return guard.release().await.unwrap();
        }
    }
    panic!("five holds were lost before they were renewed");
}

/// Waits until a hold is renewed, or lost.
async fn is_renewed(guard: &Guard) -> bool {
    let (granted, mut is_lost) = (guard.deadline(), false);
    until("it is renewed, or lost", async || {
        is_lost = guard.check().is_err();
        is_lost || guard.deadline().since(granted) > Duration::from_secs(2)
    })
    .await;
    !is_lost
}
