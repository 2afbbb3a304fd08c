//! Real processes that are killed, stopped and blocked, and a counter that nothing else protects.

use std::time::{Duration, Instant};

use tenure_servers::RedisServer;

use crate::{
    child::Process,
    fenced::Fenced,
    support::{hold, lock_keys, tenure, until},
};

const TTL: Duration = Duration::from_millis(800);

#[tokio::test]
async fn a_killed_holder_frees_the_lock_within_its_lease() {
    let server = RedisServer::start();
    let mut holder = Process::start(&["hold", &server.url(), "800"]);
    let token = holder.says_held();
    holder.kill();
    let began = Instant::now();
    let tenure = tenure(&server.url());
    let next = hold(&tenure, "lock", TTL).await;
    assert!(next.token().get() > token);
    // Its last renewal was less than one lease before its end.
    assert!(began.elapsed() < TTL + Duration::from_secs(5), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_holder_stopped_for_longer_than_its_lease_learns_that_it_lost() {
    let server = RedisServer::start();
    let mut holder = Process::start(&["hold", &server.url(), "800"]);
    let token = holder.says_held();
    let resource = Fenced::create(&server.folder().join("counter"));
    let seen = resource.open(token).unwrap();
    holder.signal("-STOP");
    let tenure = tenure(&server.url());
    let next = hold(&tenure, "lock", TTL).await;
    resource.open(next.token().get()).unwrap();
    holder.signal("-CONT");
    assert!(holder.asked("check").starts_with("lost"));
    assert!(!resource.write(token, seen + 1), "what the stopped one wrote late was taken");
    // Nothing that it does now touches the next holder.
    tokio::time::sleep(TTL).await;
    next.check().unwrap();
}

#[tokio::test]
async fn a_holder_stopped_for_less_than_its_lease_keeps_it() {
    let server = RedisServer::start();
    let mut holder = Process::start(&["hold", &server.url(), "5000"]);
    let token = holder.says_held();
    holder.signal("-STOP");
    tokio::time::sleep(Duration::from_millis(1_000)).await;
    holder.signal("-CONT");
    tokio::time::sleep(Duration::from_millis(5_000)).await;
    assert_eq!(holder.asked("check"), token.to_string());
    assert!(tenure(&server.url()).mutex("lock").try_lock().await.unwrap().is_none());
}

#[test]
fn a_blocked_executor_does_not_lose_the_lock() {
    let server = RedisServer::start();
    let mut holder = Process::start(&["hold", &server.url(), "800"]);
    holder.says_held();
    assert_eq!(holder.asked("block"), "held");
}

#[tokio::test]
async fn a_guard_dropped_outside_of_its_runtime_leaves_nothing() {
    let server = RedisServer::start();
    let mut process = Process::start(&["leave", &server.url()]);
    process.says_held();
    assert_eq!(process.says().unwrap(), "dropped outside of its runtime");
    assert!(process.ends_well());
    until("the lock is free", async || lock_keys(&server).is_empty()).await;
}

/// 64 processes, 50 rounds each.
#[test]
fn no_increment_is_lost() {
    let server = RedisServer::start();
    let file = server.folder().join("counter");
    std::fs::write(&file, "0 0").unwrap();
    let url = server.url();
    let role = ["count", url.as_str(), file.to_str().unwrap(), "50"];
    let mut processes: Vec<_> = (0..64).map(|_| Process::start(&role)).collect();
    for process in &mut processes {
        assert_eq!(process.says().as_deref(), Some("done"));
    }
    let text = std::fs::read_to_string(file).unwrap();
    assert_eq!(text.split_once(' ').unwrap().0, "3200");
    assert_eq!(lock_keys(&server), [] as [&str; 0]);
}
