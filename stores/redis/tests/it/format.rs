//! The number of the format that locks are kept in.

use tenure_core::{Fault, FaultKind, Store, Tenure};
use tenure_redis::RedisStore;
use tenure_testkit::server::{RedisServer, redis::Reply};

use crate::support::tenure;

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
        assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault}");
        let shown: String = found.chars().take(20).collect();
        assert!(fault.what().contains(&format!("{shown:?}")), "{fault}");
        assert!(
            fault.what().contains(KEY) && fault.cure().contains("docs/upgrading.md"),
            "{fault}"
        );
        let error = tenure(&server.url()).mutex("a").lock().await.unwrap_err();
        assert!(error.to_string().contains("format"), "{error}");
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
    assert!(refused(&server.url()).await.what().contains("format"));
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
