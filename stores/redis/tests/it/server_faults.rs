//! A server that restarts, runs out of memory, forgets, refuses, or is slow.

use std::time::Duration;

use tenure_core::{
    AcquireError, FaultKind, LostReason, Store,
    store::{Diagnostic, Severity},
};
use tenure_redis::RedisStore;
use tenure_servers::{RedisServer, redis::Reply};

use crate::scenes::{Action, Lock, SCENES};
use crate::support::{hold, lock_keys, lost, store, tenure, until};

const TTL: Duration = Duration::from_millis(1_500);
const SENTINEL: &str = "s3ntinel-passw0rd";

#[tokio::test]
async fn a_server_that_comes_back_empty_is_noticed_and_tokens_go_on_rising() {
    let mut server = RedisServer::start();
    let tenure = tenure(&server.url());
    let held = hold(&tenure, "lock", TTL).await;
    let token = held.token();
    server.restart();
    assert_eq!(lost(&held).await, LostReason::Taken);
    drop(held);
    assert!(hold(&tenure, "lock", TTL).await.token() > token);
}

#[tokio::test]
async fn a_server_that_writes_everything_keeps_the_lock_through_a_restart() {
    let settings = ["--appendonly", "yes", "--appendfsync", "always"];
    let mut server = RedisServer::with(&settings);
    let tenure = tenure(&server.url());
    let held = hold(&tenure, "lock", Duration::from_secs(20)).await;
    server.restart();
    until("it is still held", async || {
        matches!(tenure.mutex("other").try_lock().await, Ok(Some(_)))
    })
    .await;
    let other = crate::support::tenure(&server.url());
    assert!(other.mutex("lock").try_lock().await.unwrap().is_none());
    held.check().unwrap();
    held.release().await.unwrap();
}

/// The promise of clause 15, which a quorum counts on: another one after each restart, whatever the
/// server kept, and whatever handle asks.
#[tokio::test]
async fn each_restart_shows_also_when_nothing_was_lost() {
    let mut server = RedisServer::with(&["--appendonly", "yes", "--appendfsync", "always"]);
    let store = store(&server.url());
    let engine = store.for_engine();
    let mut all = Vec::new();
    for _ in 0..3 {
        let mut now = None;
        // The first call may find its connection broken.
        until("it answers", async || {
            now = store.incarnation().await.ok();
            now.is_some()
        })
        .await;
        let now = now.unwrap();
        assert!(!all.contains(&now), "{now} was seen before: {all:?}");
        until("the engine sees the same", async || engine.incarnation().await.ok() == Some(now))
            .await;
        all.push(now);
        server.restart();
    }
}

/// A primary that was a replica meanwhile may have taken over a memory that lacks what it answered.
#[tokio::test]
async fn a_fail_over_and_back_shows() {
    let (server, other) = (RedisServer::start(), RedisServer::start());
    let store = store(&server.url());
    let before = store.incarnation().await.unwrap();
    let port = other.address().port().to_string();
    server.command(&["REPLICAOF", "127.0.0.1", &port]);
    let fault = store.incarnation().await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unreachable, "{fault:#}");
    server.command(&["REPLICAOF", "NO", "ONE"]);
    assert_ne!(store.incarnation().await.unwrap(), before);
}

#[tokio::test]
async fn a_server_out_of_memory_still_renews_and_releases() {
    let server = RedisServer::start();
    let tenure = tenure(&server.url());
    // One hold alone, and one with a waiter's records beside it.
    let (alone, crowded) = (hold(&tenure, "a", TTL).await, hold(&tenure, "b", TTL).await);
    let other = crate::support::tenure(&server.url());
    // It is patient with a faulty server for as long as its own lease would be.
    let waits = tokio::spawn(async move { hold(&other, "b", TTL * 20).await.token() });
    until("one waits", async || crate::support::waiting(&tenure, "b").await == 1).await;
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    let error = tenure.mutex("c").try_lock().await.unwrap_err();
    assert!(matches!(error, AcquireError::Unreachable { .. }), "{error:?}");
    assert!(format!("{error:#}").contains("out of memory"), "{error:#}");
    tokio::time::sleep(TTL * 2).await;
    alone.check().unwrap();
    crowded.check().unwrap();
    alone.release().await.unwrap();
    crowded.release().await.unwrap();
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    waits.await.unwrap();
}

#[tokio::test]
async fn a_server_out_of_memory_renews_releases_and_evicts_in_every_state() {
    let mut refused = Vec::new();
    for scene in SCENES {
        for action in [Action::Renew, Action::Release, Action::Evict] {
            let lock = Lock::new();
            lock.stage().set(scene).await;
            lock.server.command(&["CONFIG", "SET", "maxmemory", "1"]);
            let caller = store(&lock.server.url());
            if let Err(fault) = action.call(&caller, &lock.name).await {
                refused.push(format!("{action:?} of {scene:?}: {fault:#}"));
            }
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
}

#[tokio::test]
async fn a_lock_that_is_gone_from_the_server_is_lost_and_stays_lost() {
    for words in [&["FLUSHALL"][..], &["DEL", "{key}"]] {
        let server = RedisServer::start();
        let tenure = tenure(&server.url());
        let held = hold(&tenure, "lock", TTL).await;
        let key = lock_keys(&server).remove(0);
        let words: Vec<_> = words.iter().map(|word| word.replace("{key}", &key)).collect();
        server.command(&words);
        assert_eq!(lost(&held).await, LostReason::Taken);
        tokio::time::sleep(TTL).await;
        assert_eq!(lock_keys(&server), [] as [&str; 0], "nothing brings it back");
    }
}

#[tokio::test]
async fn a_replica_grants_nothing() {
    let server = RedisServer::start();
    let tenure = tenure(&server.url());
    hold(&tenure, "lock", TTL).await.release().await.unwrap();
    server.command(&["REPLICAOF", "127.0.0.1", "1"]);
    let error = tenure.mutex("lock").try_lock().await.unwrap_err();
    assert!(matches!(error, AcquireError::Unreachable { .. }), "{error:?}");
    assert!(format!("{error:#}").contains("replica"), "{error:#}");
    server.command(&["REPLICAOF", "NO", "ONE"]);
    hold(&tenure, "lock", TTL).await.release().await.unwrap();
}

#[tokio::test]
async fn a_grant_that_comes_too_late_is_none() {
    let server = RedisServer::start();
    let tenure = tenure(&format!("{}?response_timeout=30s", server.url()));
    let held = hold(&tenure, "held", TTL).await;
    let address = server.address();
    let sleeps = std::thread::spawn(move || {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        std::io::Write::write_all(&mut stream, b"DEBUG SLEEP 4\r\n").unwrap();
        let mut answer = [0; 5];
        std::io::Read::read_exact(&mut stream, &mut answer).unwrap();
    });
    // The server sleeps when it does not answer any more.
    assert_eq!(lost(&held).await, LostReason::Deadline);
    let error = tenure.mutex("late").try_lock().ttl(Duration::from_millis(300)).await;
    assert!(matches!(error, Err(AcquireError::InDoubt { .. })), "{error:?}");
    sleeps.join().unwrap();
    drop(held);
    until("nothing is left", async || lock_keys(&server).is_empty()).await;
}

#[tokio::test]
async fn a_wrong_password_is_fatal_and_never_shown() {
    let server = RedisServer::with(&["--requirepass", "right"]);
    let address = server.address();
    for (url, text) in [
        (format!("redis://{address}"), "password"),
        (format!("redis://:{SENTINEL}@{address}"), "refuses this user"),
        (format!("redis://me:{SENTINEL}@{address}"), "refuses this user"),
    ] {
        let fault = RedisStore::open(&url).await.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
        assert!(format!("{fault:#}").contains(text), "{fault:#}");
        let tenure = tenure(&url);
        let error = tenure.mutex("lock").lock().await.unwrap_err();
        assert!(matches!(error, AcquireError::Misconfigured { .. }), "{error:?}");
        let shown =
            format!("{fault:?} {error:?} {error:#} {tenure:?} {}", tenure.store().location());
        assert!(!shown.contains(SENTINEL), "{shown}");
    }
    let good = RedisStore::open(&format!("redis://:right@{address}")).await.unwrap();
    assert_eq!(good.location(), format!("redis://{address}/0"));
}

#[tokio::test]
async fn a_user_who_may_not_is_told_so() {
    let server = RedisServer::start();
    let url = format!("redis://me:{SENTINEL}@{}", server.address());
    let password = format!(">{SENTINEL}");
    let allow = |rules: &[&str]| {
        let mut words = vec!["ACL", "SETUSER", "me", "reset", "on", password.as_str()];
        words.extend(rules);
        assert_eq!(server.command(&words), Reply::Text("OK".to_owned()));
    };
    for rules in [
        &["~other:*", "&*", "+@all"][..],
        &["~*", "&*", "+@all", "-evalsha", "-eval"],
        &["~*", "&*", "+@all", "-set"],
    ] {
        allow(rules);
        let error = tenure(&url).mutex("lock").try_lock().await.unwrap_err();
        assert!(matches!(error, AcquireError::Misconfigured { .. }), "{rules:?}: {error:?}");
        assert!(!format!("{error:?} {error:#}").contains(SENTINEL), "{error:?}");
    }
    // Whoever may not publish locks all the same: hints are lost, and waiters look.
    allow(&["~*", "resetchannels", "+@all"]);
    let (one, other) = (tenure(&url), tenure(&url));
    let held = hold(&one, "lock", TTL).await;
    let waits = tokio::spawn(async move { hold(&other, "lock", TTL).await.token() });
    until("it waits", async || crate::support::waiting(&one, "lock").await == 1).await;
    held.release().await.unwrap();
    waits.await.unwrap();
}

/// What a look at the server finds about `what`.
async fn found(url: &str, what: &str) -> Diagnostic {
    let diagnostics = store(url).health().await.unwrap();
    diagnostics.into_iter().find(|diagnostic| diagnostic.what == what).unwrap()
}

async fn severity(url: &str, what: &str) -> Severity {
    found(url, what).await.severity
}

#[tokio::test]
async fn a_look_at_the_server_sees_what_is_wrong() {
    let server = RedisServer::start();
    let url = server.url();
    assert_eq!(severity(&url, "version").await, Severity::Good);
    assert_eq!(severity(&url, "permissions").await, Severity::Good);
    assert_eq!(severity(&url, "clock").await, Severity::Good);
    assert_eq!(severity(&url, "persistence").await, Severity::Warning);
    assert_eq!(severity(&url, "eviction").await, Severity::Good);
    server.command(&["CONFIG", "SET", "maxmemory-policy", "volatile-ttl"]);
    assert_eq!(severity(&url, "eviction").await, Severity::Bad);
    assert_eq!(lock_keys(&server), [] as [&str; 0], "a look leaves nothing");
    server.command(&["ACL", "SETUSER", "default", "-publish"]);
    assert_eq!(severity(&url, "hints").await, Severity::Warning);
    assert_eq!(severity(&url, "permissions").await, Severity::Good, "locks work without");
    server.command(&["ACL", "SETUSER", "default", "+publish", "-del"]);
    assert_eq!(severity(&url, "permissions").await, Severity::Bad);
    server.command(&["ACL", "SETUSER", "default", "+del"]);
    assert_eq!(severity(&url, "hints").await, Severity::Good);
    for rules in [
        &["-subscribe"][..],
        &["+subscribe", "resetchannels"],
        &["resetchannels", "&tenure:wake:*"],
    ] {
        server.command(&[&["ACL", "SETUSER", "default"], rules].concat());
        let hints = found(&url, "hints").await;
        assert_eq!((hints.severity, hints.promise), (Severity::Warning, Some("S6")), "{hints:?}");
        assert_eq!(severity(&url, "permissions").await, Severity::Good, "{rules:?}");
    }
}

#[tokio::test]
async fn a_replica_that_was_there_lately_is_not_taken_for_none() {
    let (server, mut other) = (RedisServer::start(), RedisServer::start());
    let url = server.url();
    assert_eq!(severity(&url, "replicas").await, Severity::Good);
    let port = server.address().port().to_string();
    other.command(&["REPLICAOF", "127.0.0.1", &port]);
    until("it follows", async || found(&url, "replicas").await.found.starts_with('1')).await;
    assert_eq!(severity(&url, "replicas").await, Severity::Warning);
    other.kill();
    until("it is gone", async || !found(&url, "replicas").await.found.starts_with('1')).await;
    let away = found(&url, "replicas").await;
    assert_eq!((away.severity, away.promise), (Severity::Warning, Some("S1")), "{away:?}");
}

/// Whatever it is that a restart of the server, or of its machine, takes along.
#[tokio::test]
async fn a_look_says_what_a_restart_can_lose() {
    let server = RedisServer::start();
    let url = server.url();
    let set = |name, value| {
        assert_eq!(server.command(&["CONFIG", "SET", name, value]), Reply::Text("OK".to_owned()));
    };
    let is = async |severity, says: &str| {
        let found = found(&url, "persistence").await;
        assert_eq!(found.severity, severity, "{found:?}");
        assert!(found.found.contains(says), "{found:?}");
    };
    is(Severity::Warning, "has forgotten").await;
    // Long enough to be seen, whoever comes late.
    server.command(&["SET", "other", "data"]);
    set("rdb-key-save-delay", "600000000");
    set("appendfsync", "always");
    set("appendonly", "yes");
    is(Severity::Warning, "still being written").await;
    set("appendonly", "no");
    set("rdb-key-save-delay", "0");
    set("appendonly", "yes");
    until("the file is there", async || {
        found(&url, "persistence").await.severity == Severity::Good
    })
    .await;
    is(Severity::Good, "appendfsync always").await;
    set("no-appendfsync-on-rewrite", "yes");
    is(Severity::Warning, "file is rewritten").await;
    set("no-appendfsync-on-rewrite", "no");
    set("appendfsync", "everysec");
    is(Severity::Warning, "last second or two").await;
    set("appendfsync", "no");
    is(Severity::Warning, "half minute").await;
    set("appendfsync", "always");
    is(Severity::Good, "appendfsync always").await;
    server.command(&["ACL", "SETUSER", "default", "-config"]);
    is(Severity::Warning, "does not show this").await;
}

#[tokio::test]
async fn an_evicted_lock_is_lost() {
    let server = RedisServer::start();
    let tenure = tenure(&server.url());
    let held = hold(&tenure, "lock", TTL).await;
    server.command(&["CONFIG", "SET", "maxmemory-policy", "volatile-ttl"]);
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    // Any write makes the server evict what ends first, which are locks.
    server.command(&["SET", "other", "data"]);
    assert_eq!(lost(&held).await, LostReason::Taken);
}

#[tokio::test]
async fn a_unix_socket_is_a_place_too() {
    let server = RedisServer::start();
    let url = format!("unix:{}?prefix=mine:", server.socket().display());
    let guard = hold(&tenure(&url), "lock", TTL).await;
    assert!(lock_keys(&server).iter().all(|key| key.starts_with("mine:{")));
    guard.release().await.unwrap();
    let shown = format!("unix:{}?db=0&prefix=mine:", server.socket().display());
    assert_eq!(store(&url).location(), shown);
}
