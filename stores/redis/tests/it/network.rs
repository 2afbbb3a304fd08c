//! Connections that are killed, cut, or silent.

use std::time::{Duration, Instant};

use tenure_core::{AcquireError, LostReason};
use tenure_servers::RedisServer;
use tenure_testkit::fault::{Proxy, Weather};

use crate::support::{hold, lock_keys, lost, tenure, until, waiting};

const TTL: Duration = Duration::from_millis(1_500);

/// A server behind a proxy, and the URL through it.
fn far() -> (RedisServer, Proxy, String) {
    let server = RedisServer::start();
    let proxy = Proxy::start(server.address(), 1).unwrap();
    let url = format!("redis://{}?response_timeout=300ms&connect_timeout=300ms", proxy.address());
    (server, proxy, url)
}

#[tokio::test]
async fn a_waiter_whose_connections_are_killed_still_gets_its_turn() {
    let server = RedisServer::start();
    let (one, other) = (tenure(&server.url()), tenure(&server.url()));
    let held = hold(&one, "lock", TTL).await;
    let waits = tokio::spawn(async move { hold(&other, "lock", TTL).await.token() });
    until("it waits", async || waiting(&one, "lock").await == 1).await;
    for kind in ["normal", "pubsub"] {
        server.command(&["CLIENT", "KILL", "TYPE", kind]);
    }
    held.release().await.unwrap();
    waits.await.unwrap();
}

#[tokio::test]
async fn a_holder_cut_off_is_told_by_its_deadline() {
    for (requests, replies) in [(true, true), (false, true), (true, false)] {
        let (server, proxy, url) = far();
        let (cut_off, near) = (tenure(&url), tenure(&server.url()));
        let held = hold(&cut_off, "lock", TTL).await;
        let token = held.token();
        proxy.set(Weather {
            requests_swallowed: requests,
            replies_swallowed: replies,
            ..Weather::default()
        });
        let began = Instant::now();
        assert_eq!(lost(&held).await, LostReason::Deadline);
        assert!(began.elapsed() <= TTL + Duration::from_millis(500), "{:?}", began.elapsed());
        let next = hold(&near, "lock", TTL).await;
        assert!(next.token() > token);
        proxy.set(Weather::default());
        // When the network heals the lost hold does not come back.
        tokio::time::sleep(TTL).await;
        assert!(held.check().is_err());
        next.check().unwrap();
    }
}

#[tokio::test]
async fn an_acquire_whose_reply_is_lost_is_taken_back() {
    let (server, proxy, url) = far();
    let cut_off = tenure(&url);
    // The connection is there, and the script known.
    hold(&cut_off, "warm", TTL).await.release().await.unwrap();
    proxy.set(Weather { replies_swallowed: true, ..Weather::default() });
    let error = cut_off.mutex("lock").try_lock().ttl(TTL).await.unwrap_err();
    assert!(matches!(error, AcquireError::InDoubt { .. }), "{error:?}");
    // It was granted, and nobody else gets it before it is over.
    assert_eq!(lock_keys(&server).len(), 1);
    assert!(tenure(&server.url()).mutex("lock").try_lock().await.unwrap().is_none());
    proxy.set(Weather::default());
    until("it is taken back", async || lock_keys(&server).is_empty()).await;
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable() {
    let (_server, proxy, url) = far();
    proxy.set(Weather { refuses: true, ..Weather::default() });
    let error = tenure(&url).mutex("lock").try_lock().await.unwrap_err();
    assert!(matches!(error, AcquireError::Unreachable { .. }), "{error:?}");
    let nowhere = tenure("redis://127.0.0.1:1").mutex("lock").try_lock().await.unwrap_err();
    assert!(matches!(nowhere, AcquireError::Unreachable { .. }), "{nowhere:?}");
}

#[tokio::test]
async fn a_store_is_used_again_after_its_connection_broke() {
    let (_server, proxy, url) = far();
    let tenure = tenure(&url);
    for _ in 0..5 {
        let guard = hold(&tenure, "lock", TTL).await;
        proxy.cut();
        guard.release().await.unwrap();
    }
}
