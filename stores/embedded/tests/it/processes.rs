//! Between real processes: kill, stop, order, and what a lock is for.

use std::time::Duration;

use tenure_core::{FaultKind, Store};

use crate::{
    child::Process,
    support::{give_back, is_free, name, once, open, owner, state_files, take, until, wait_for},
};

#[tokio::test]
async fn a_killed_holder_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let mut holder = Process::start(&["hold", dir.path().to_str().unwrap(), "a", "60000"]);
    let token = holder.says_held();
    assert!(!is_free(&store, &name("a")).await);
    holder.kill();
    // Its lease had half a minute left.
    let (_, next) = wait_for(&store, &name("a"), || {}).await;
    assert!(next.get() > token);
}

#[tokio::test]
async fn a_look_a_list_and_an_eviction_say_the_same_of_a_killed_holder() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let mut holder = Process::start(&["hold", dir.path().to_str().unwrap(), "a", "60000"]);
    holder.says_held();
    let held = store.inspect(&name("a")).await.unwrap().holders.remove(0);
    assert_eq!(store.list("", 10).await.unwrap().names.len(), 1);
    holder.kill();
    assert_eq!(store.inspect(&name("a")).await.unwrap().holders, []);
    assert_eq!(store.list("", 10).await.unwrap().names, []);
    assert_eq!(store.evict_hold(&name("a"), held.id.unwrap()).await.unwrap(), None);

    let mut holder = Process::start(&["hold", dir.path().to_str().unwrap(), "a", "60000"]);
    holder.says_held();
    holder.kill();
    assert_eq!(store.evict(&name("a")).await.unwrap(), []);
    take(&store, &name("a")).await;
}

#[tokio::test]
async fn a_waiter_that_is_killed_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().to_str().unwrap();
    let store = open(&dir);
    let (mine, _) = take(&store, &name("a")).await;
    let mut first = Process::start(&["wait", place, "a"]);
    assert_eq!(first.says().unwrap(), "waiting");
    let mut second = Process::start(&["wait", place, "a"]);
    assert_eq!(second.says().unwrap(), "waiting");
    first.kill();
    give_back(&store, &name("a"), &mine).await;
    second.says_held();
}

#[tokio::test]
async fn processes_are_served_in_the_order_of_asking() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let (mine, mut last) = take(&store, &name("a")).await;
    let mut line = Vec::new();
    for _ in 0..5 {
        let mut process = Process::start(&["wait", dir.path().to_str().unwrap(), "a"]);
        assert_eq!(process.says().unwrap(), "waiting");
        line.push(process);
    }
    assert_eq!(store.inspect(&name("a")).await.unwrap().waiters.len(), 5);
    give_back(&store, &name("a"), &mine).await;
    for process in &mut line {
        let token = process.says_held();
        assert!(token > last.get());
        last = tenure_core::proto::Token::from_raw(token).unwrap();
        // Nobody behind it has the name before it lets go.
        assert_eq!(store.inspect(&name("a")).await.unwrap().holders[0].token, Some(last));
        process.go_on();
        assert_eq!(process.says().unwrap(), "released");
    }
}

#[test]
fn no_increment_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let (place, counter) = (dir.path().join("store"), dir.path().join("counter"));
    std::fs::write(&counter, "0 0").unwrap();
    let role = ["count", place.to_str().unwrap(), "a", counter.to_str().unwrap(), "40"];
    let mut processes: Vec<_> = (0..8).map(|_| Process::start(&role)).collect();
    for process in &mut processes {
        assert_eq!(process.says().as_deref(), Some("done"));
    }
    let text = std::fs::read_to_string(counter).unwrap();
    assert_eq!(text.split_once(' ').unwrap().0, "320");
}

#[tokio::test]
async fn a_stopped_holder_keeps_the_name_until_its_lease_ends() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let mut holder = Process::start(&["hold", dir.path().to_str().unwrap(), "a", "1500"]);
    holder.says_held();
    holder.signal("-STOP");
    // A stopped process lives, so nobody gets the name early.
    let left = store.inspect(&name("a")).await.unwrap().holders[0].left.unwrap();
    assert!(left > Duration::ZERO && !is_free(&store, &name("a")).await);
    until("the lease ends", async || is_free(&store, &name("a")).await).await;
    // Too late, it finds that it has nothing left to give back.
    holder.go_on();
    holder.signal("-CONT");
    assert_eq!(holder.says().unwrap(), "NotHeld");
}

#[tokio::test]
async fn a_process_stopped_inside_a_decision_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let (mine, _) = take(&store, &name("a")).await;
    let file = state_files(dir.path()).remove(0);
    let file = file.to_str().unwrap();
    let mut process = Process::start(&["stay inside", file]);
    assert_eq!(process.says().unwrap(), "inside");
    process.signal("-STOP");
    let fault = store.acquire(&name("a"), &once(owner())).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unreachable);
    assert!(fault.message().contains(file) && fault.help().contains("fuser"), "{fault:#}");
    // Other names are not held up, and this one goes on as soon as the process is gone.
    take(&store, &name("b")).await;
    process.kill();
    give_back(&store, &name("a"), &mine).await;
}

#[tokio::test]
async fn two_stores_of_one_process_are_two_clients() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (open(&dir), open(&dir));
    take(&one, &name("a")).await;
    assert!(!is_free(&two, &name("a")).await);
    // What the first one held ends with it, although the process goes on.
    drop(one);
    until("it is free", async || is_free(&two, &name("a")).await).await;
}

#[tokio::test]
async fn a_copy_of_its_liveness_keeps_a_client_alive() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (open(&dir), open(&dir));
    take(&one, &name("a")).await;
    let copy = one.liveness().unwrap();
    drop(one);
    assert!(!is_free(&two, &name("a")).await);
    drop(copy);
    until("it is free", async || is_free(&two, &name("a")).await).await;
}

#[test]
#[cfg(target_os = "linux")]
fn another_time_namespace_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let role = ["open", dir.path().to_str().unwrap()];
    let shift = ["unshare", "--user", "--map-root-user", "--time", "--boottime", "1000", "--fork"];
    let program = std::env::current_exe().unwrap();
    let mut process = Process::run(&mut crate::child::command(&shift, &program, &role));
    let Some(said) = process.says() else {
        eprintln!("not shown: this machine makes no time namespace");
        return;
    };
    assert!(said.contains("Misconfigured") && said.contains("time namespace"), "{said}");
}
