//! The number of the format that locks are kept in.

use tenure_core::{
    Fault, FaultKind, Store, Tenure,
    proto::queue::{Intent, Mode},
    store::Severity,
};
use tenure_redis::RedisStore;
use tenure_servers::{RedisServer, redis::Reply};

use crate::{
    scenes::{WAIT, ask},
    support::{name, tenure},
};

const KEY: &str = "tenure:format";

fn text(text: &str) -> Reply {
    Reply::Text(text.to_owned())
}

async fn refused(url: &str) -> Fault {
    RedisStore::open(url).await.map(drop).unwrap_err()
}

async fn locks(tenure: &Tenure) {
    tenure.mutex("a").lock().await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn who_connects_first_writes_it_for_good() {
    let server = RedisServer::start();
    locks(&tenure(&server.url())).await;
    assert_eq!(server.command(&["GET", KEY]), text("2"));
    assert_eq!(server.command(&["TTL", KEY]), text("-1"));
    locks(&tenure(&server.url())).await;
}

#[tokio::test]
async fn another_format_is_refused_and_left_alone() {
    for found in ["1", "3", "0", "2 ", "", "a format from far in the future"] {
        let server = RedisServer::start();
        server.command(&["SET", KEY, found]);
        let fault = refused(&server.url()).await;
        assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
        let shown: String = found.chars().take(20).collect();
        assert!(fault.message().contains(&format!("{shown:?}")), "{fault:#}");
        assert!(
            fault.message().contains(KEY) && fault.help().contains("docs/upgrading.md"),
            "{fault:#}"
        );
        let error = tenure(&server.url()).mutex("a").lock().await.unwrap_err();
        assert!(format!("{error:#}").contains("format"), "{error:#}");
        assert_eq!(server.command(&["GET", KEY]), text(found));
        assert_eq!(server.keys(), [KEY]);
        // Under another prefix there is nothing yet.
        locks(&tenure(&format!("{}?prefix=other:", server.url()))).await;
    }
}

#[tokio::test]
async fn something_else_under_its_key_is_refused_and_left_alone() {
    let server = RedisServer::start();
    server.command(&["HSET", KEY, "not", "ours"]);
    assert_eq!(refused(&server.url()).await.kind(), FaultKind::Misconfigured);
    assert_eq!(server.command(&["HGET", KEY, "not"]), text("ours"));
}

#[tokio::test]
async fn a_server_that_takes_no_writes_is_asked_for_it() {
    let server = RedisServer::start();
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    RedisStore::open(&server.url()).await.unwrap();
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    server.command(&["SET", KEY, "3"]);
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    assert!(refused(&server.url()).await.message().contains("format"));
}

#[tokio::test]
async fn a_user_who_may_not_see_it_still_locks() {
    let server = RedisServer::start();
    server.command(&["ACL", "SETUSER", "few", "on", ">secret", "~tenure:{*", "&*", "+@all"]);
    let url = server.url().replacen("://", "://few:secret@", 1);
    let store = RedisStore::open(&url).await.unwrap();
    assert_eq!(store.kind(), "redis");
    locks(&tenure(&url)).await;
}

/// What a version without the number, or with format 1, left of a lock that was shared or waited for, and of one that
/// stays taken.
const OF_FORMAT_1: &str = "redis.call('HSET', KEYS[1], 'till', '4949275108654841', 'next', '0', 's', '0', \
    'h08f500a75559bb3aa577bc038d0925a1', cmsgpack.pack({'x', 0, 0, '1795675108650787', '', 1, 'old'}), \
    'n', '1', 'x', '1', 'p', '0') \
    redis.call('ZADD', KEYS[2], '4949275108654841', 'h08f500a75559bb3aa577bc038d0925a1')";

/// A server with a lock called `a` that an earlier version left, and without a number.
async fn of_format_1() -> RedisServer {
    let server = RedisServer::start();
    let tenure = tenure(&server.url());
    let guard = tenure.mutex("a").lock().await.unwrap();
    let lock = server.keys().into_iter().find(|key| key.ends_with("lock:a")).unwrap();
    guard.release().await.unwrap();
    let ends = lock.replace("lock:", "ends:");
    server.command(&["DEL", &lock, &ends, KEY]);
    server.command(&["EVAL", OF_FORMAT_1, "2", &lock, &ends]);
    server
}

#[tokio::test]
async fn what_format_1_left_is_called_so_and_an_operator_frees_it() {
    let server = of_format_1().await;
    let store = RedisStore::open(&server.url()).await.unwrap();
    let lock = name("a");
    let asks = [Intent::Try, WAIT].map(|intent| ask(1, Mode::Exclusive, intent));
    let mut faults = vec![store.inspect(&lock).await.unwrap_err()];
    for ask in &asks {
        faults.push(store.acquire(&lock, ask).await.unwrap_err());
    }
    for fault in &faults {
        assert_eq!(fault.kind(), FaultKind::Corrupt, "{fault:#}");
        assert!(
            fault.message().contains("format 1") && fault.message().contains("format 2"),
            "{fault:#}"
        );
        assert!(fault.help().contains("docs/upgrading.md#redis"), "{fault:#}");
    }
    let health = store.health().await.unwrap();
    let records = health.iter().find(|diagnostic| diagnostic.what == "records").unwrap();
    assert_eq!(records.severity, Severity::Bad);
    assert!(records.found.contains("\"a\"") && records.found.contains("format 1"), "{records:?}");
    store.evict(&lock).await.unwrap();
    locks(&tenure(&server.url())).await;
    let health = store.health().await.unwrap();
    assert!(health.iter().all(|diagnostic| diagnostic.what != "records"), "{health:?}");
}

#[tokio::test]
async fn what_makes_no_sense_may_be_of_another_version() {
    let server = of_format_1().await;
    let lock = server.keys().into_iter().find(|key| key.ends_with("lock:a")).unwrap();
    server.command(&["HDEL", &lock, "till"]);
    let store = RedisStore::open(&server.url()).await.unwrap();
    let fault = store.inspect(&name("a")).await.unwrap_err();
    assert!(fault.message().contains("makes no sense"), "{fault:#}");
    assert!(fault.help().contains("another version of tenure"), "{fault:#}");
    assert!(fault.help().contains("docs/upgrading.md#redis"), "{fault:#}");
}
