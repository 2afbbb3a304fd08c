//! Sessions that end as soon as they have begun.

use std::time::{Duration, Instant};

use tenure_core::Store;
use tenure_servers::{
    ZookeeperServer,
    lying::{Protocol, RogueServer},
};

use crate::support::{name, path, store};

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
