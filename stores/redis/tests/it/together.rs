//! Several names in one script.

use std::time::Duration;

use tenure_core::{
    AcquireError, FaultKind, Store,
    proto::queue::{Intent, Mode},
};
use tenure_servers::{RedisServer, redis::Reply};

use crate::{
    scenes::{ME, ask},
    support::{cluster, lock_keys, name, store, tenure, until},
};

/// How many scripts the server has run since it was last asked to forget.
pub(crate) fn scripts(server: &RedisServer) -> u64 {
    let Reply::Text(text) = server.command(&["INFO", "commandstats"]) else { return 0 };
    let calls = |line: &str| {
        let line = line.strip_prefix("cmdstat_eval").map(|line| line.trim_start_matches("sha"))?;
        line.strip_prefix(":calls=")?.split(',').next()?.parse::<u64>().ok()
    };
    text.lines().filter_map(calls).sum()
}

#[tokio::test]
async fn however_many_names_are_free_they_take_one_script() {
    let server = RedisServer::start();
    let tenure = tenure(&server.url());
    let all = tenure.all(["a", "b", "c", "d", "e", "f", "g", "h"]);
    // The server gets to know the script.
    all.lock().await.unwrap().release().await.unwrap();
    server.command(&["CONFIG", "RESETSTAT"]);
    let guard = all.lock().await.unwrap();
    assert_eq!(scripts(&server), 1);
    assert_eq!(lock_keys(&server).len(), 8);
    guard.release().await.unwrap();
    // On a machine that stands still for a while its renewal may not come between.
    let busy = tenure.mutex("d").ttl(Duration::from_secs(3600)).lock().await.unwrap();
    let other = crate::support::tenure(&server.url());
    let all = other.all(["a", "b", "c", "d"]);
    assert!(all.try_lock().await.unwrap().is_none());
    server.command(&["CONFIG", "SET", "slowlog-log-slower-than", "0"]);
    server.command(&["CONFIG", "RESETSTAT"]);
    assert!(all.try_lock().await.unwrap().is_none());
    assert_eq!(scripts(&server), 1, "{:?}", server.command(&["SLOWLOG", "GET"]));
    assert_eq!(lock_keys(&server).len(), 1);
    busy.release().await.unwrap();
}

#[tokio::test]
async fn a_server_out_of_memory_grants_no_part() {
    let server = RedisServer::start();
    let tenure = tenure(&server.url());
    let all = tenure.all(["a", "b", "c"]);
    all.lock().await.unwrap().release().await.unwrap();
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    let error = all.try_lock().await.unwrap_err();
    assert!(matches!(error, AcquireError::Unreachable { .. }), "{error:?}");
    assert!(format!("{error:#}").contains("out of memory"), "{error:#}");
    assert_eq!(lock_keys(&server), [] as [&str; 0]);
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    all.lock().await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_clock_that_is_none_leaves_no_part() {
    let server = RedisServer::start();
    let tenure = tenure(&server.url());
    tenure.mutex("z").lock().await.unwrap().release().await.unwrap();
    let clock = server.keys().into_iter().find(|key| key.ends_with("}clock")).unwrap();
    server.command(&["DEL", &clock]);
    server.command(&["HSET", &clock, "no", "clock"]);
    let error = tenure.all(["a", "b", "z"]).try_lock().await.unwrap_err();
    assert!(matches!(error, AcquireError::Corrupt(_)), "{error:?}");
    assert_eq!(lock_keys(&server), [] as [&str; 0]);
    let error = tenure.mutex("z").try_lock().await.unwrap_err();
    assert!(matches!(error, AcquireError::Corrupt(_)), "{error:?}");
    assert_eq!(lock_keys(&server), [] as [&str; 0]);
    server.command(&["DEL", &clock]);
    tenure.all(["a", "b", "z"]).try_lock().await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_name_with_a_queue_is_waited_for_in_it() {
    let server = RedisServer::start();
    let (one, other) = (tenure(&server.url()), tenure(&server.url()));
    let held = one.mutex("b").lock().await.unwrap();
    let waits = {
        let other = other.clone();
        tokio::spawn(async move { other.mutex("b").lock().await.unwrap() })
    };
    until("one waits", async || crate::support::waiting(&one, "b").await == 1).await;
    let third = tenure(&server.url());
    let all =
        tokio::spawn(third.all(["a", "b", "c"]).ttl(Duration::from_secs(20)).lock().into_future());
    until("two wait", async || crate::support::waiting(&one, "b").await == 2).await;
    held.release().await.unwrap();
    let first = waits.await.unwrap();
    let token = first.token();
    first.release().await.unwrap();
    let guard = all.await.unwrap().unwrap();
    assert!(guard.token_of("b") > Some(token));
    guard.release().await.unwrap();
    assert_eq!(lock_keys(&server), [] as [&str; 0]);
}

/// Nothing but a right that differs from key to key is refused after the first record.
#[tokio::test]
async fn what_is_refused_midway_is_in_doubt_and_taken_back() {
    let server = RedisServer::start();
    let clocks_and_one = "(+set ~tenure:*clock ~tenure:*lock:a)";
    let words =
        ["ACL", "SETUSER", "me", "on", "nopass", "~*", "&*", "+@all", "-set", clocks_and_one];
    assert_eq!(server.command(&words), Reply::Text("OK".to_owned()));
    let url = format!("redis://me:any@{}", server.address());
    let asks = ["a", "b"].map(|one| (name(one), ask(ME, Mode::Exclusive, Intent::Try)));
    let fault = store(&url).acquire_together(&asks).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::InDoubt, "{fault:#}");
    assert!(format!("{fault:#}").contains("middle of a script"), "{fault:#}");
    assert_eq!(lock_keys(&server).len(), 1);
    server.command(&["FLUSHALL"]);
    let tenure = tenure(&url);
    let error = tenure.all(["a", "b"]).try_lock().await.unwrap_err();
    assert!(matches!(error, AcquireError::InDoubt { .. }), "{error:?}");
    until("it is taken back", async || lock_keys(&server).is_empty()).await;
}

#[tokio::test]
async fn names_in_several_slots_are_asked_for_one_by_one() {
    let server = cluster().await;
    let asks = ["a", "b", "c"].map(|one| (name(one), ask(ME, Mode::Exclusive, Intent::Try)));
    let fault = store(&server.url()).acquire_together(&asks).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unsupported, "{fault:#}");
    assert!(format!("{fault:#}").contains("different slots"), "{fault:#}");
    assert_eq!(lock_keys(&server), [] as [&str; 0]);
    let guard = tenure(&server.url()).all(["a", "b", "c"]).lock().await.unwrap();
    assert_eq!(lock_keys(&server).len(), 3);
    guard.release().await.unwrap();
    assert_eq!(lock_keys(&server), [] as [&str; 0]);
}

#[tokio::test]
async fn names_made_for_one_slot_are_asked_for_in_one_script() {
    let server = cluster().await;
    let made = |one| tenure_redis::name_in_slot_of("customer:42", one).unwrap();
    let tenure = tenure(&server.url());
    let all = tenure.all([name("customer:42"), made("wallet"), made("orders"), made("points")]);
    // The server gets to know the script.
    all.lock().await.unwrap().release().await.unwrap();
    server.command(&["CONFIG", "RESETSTAT"]);
    let guard = all.lock().await.unwrap();
    assert_eq!(scripts(&server), 1);
    assert_eq!(lock_keys(&server).len(), 4);
    guard.release().await.unwrap();
}
