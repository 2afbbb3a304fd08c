//! Holders that are killed and stopped.

use std::time::{Duration, Instant};

use crate::{
    child::Process,
    support::{fresh_database, hold, tenure},
};

const TTL: Duration = Duration::from_millis(800);

#[tokio::test]
async fn a_killed_holder_frees_the_lock_within_its_lease() {
    let url = fresh_database().await;
    let mut holder = Process::start(&["hold", &url, "800"]);
    let token = holder.says_held();
    let other = tenure(&url);
    assert!(other.mutex("lock").try_lock().await.unwrap().is_none());
    holder.kill();
    let began = Instant::now();
    let next = hold(&other, "lock", TTL).await;
    assert!(next.token().get() > token);
    assert!(began.elapsed() < TTL + Duration::from_secs(3), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_holder_stopped_for_longer_than_its_lease_learns_that_it_lost() {
    let url = fresh_database().await;
    let mut holder = Process::start(&["hold", &url, "800"]);
    let token = holder.says_held();
    holder.signal("-STOP");
    let next = hold(&tenure(&url), "lock", TTL).await;
    assert!(next.token().get() > token);
    holder.signal("-CONT");
    assert!(holder.asked("check").starts_with("lost"));
    // Nothing that it does now touches the next holder.
    tokio::time::sleep(TTL).await;
    next.check().unwrap();
}

#[tokio::test]
async fn a_holder_stopped_in_the_middle_locks_no_row() {
    let url = fresh_database().await;
    let mut holder = Process::start(&["hold", &url, "20000"]);
    holder.says_held();
    holder.signal("-STOP");
    let other = tenure(&url);
    let began = Instant::now();
    for _ in 0..50 {
        assert!(other.mutex("lock").try_lock().await.unwrap().is_none());
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    holder.signal("-CONT");
    assert!(!holder.asked("check").starts_with("lost"));
}
