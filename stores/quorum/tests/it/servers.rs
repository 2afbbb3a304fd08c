//! Five real servers, of which some stop, freeze, and lose their memory.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tenure_core::{AcquireError, Guard, Store, Tenure};
use tenure_testkit::server::RedisServer;

use crate::support::{PATIENCE, ask, lock_keys, name, quorum, servers, signal, token, until};

const LONGEST: Duration = Duration::from_secs(4);
const TTL: Duration = Duration::from_secs(1);

/// Locks, also when no majority answers for a while.
async fn locked(tenure: &Tenure, lock: &str) -> Guard {
    let began = Instant::now();
    loop {
        match tenure.mutex(lock).ttl(TTL).lock().wait(PATIENCE).await {
            Ok(guard) => return guard,
            Err(error) => assert!(began.elapsed() < PATIENCE, "{error}"),
        }
    }
}

/// One killed and one frozen, which answers nothing.
fn stop_two(servers: &mut [RedisServer]) {
    servers[0].kill();
    signal(&servers[1], "-STOP");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_two_of_five_stopped_locks_are_acquired_and_renewed() {
    let mut servers = servers(5);
    let tenure = Tenure::new(Arc::new(quorum(&servers, LONGEST).await));
    let before = locked(&tenure, "a").await;
    stop_two(&mut servers);
    let began = Instant::now();
    let mut last = before.token();
    let mut longest = Duration::ZERO;
    while began.elapsed() < TTL * 3 {
        let asked = Instant::now();
        let guard = locked(&tenure, "b").await;
        longest = longest.max(asked.elapsed());
        assert!(guard.check().unwrap() > last || last == before.token());
        last = guard.token();
        guard.release().await.unwrap();
        before.check().unwrap();
    }
    println!("the longest acquire with two of five stopped took {longest:?}");
    before.release().await.unwrap();
    signal(&servers[1], "-CONT");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_three_of_five_stopped_nothing_is_granted_and_nothing_is_left_behind() {
    let mut servers = servers(5);
    let tenure = Tenure::new(Arc::new(quorum(&servers, LONGEST).await));
    let first = locked(&tenure, "a").await;
    let token = first.token();
    first.release().await.unwrap();
    stop_two(&mut servers);
    signal(&servers[2], "-STOP");
    let error = tenure.mutex("a").ttl(TTL).try_lock().await.unwrap_err();
    let doubtful = matches!(error, AcquireError::InDoubt(_) | AcquireError::Unreachable(_));
    let text = error.to_string();
    assert!(doubtful && text.contains("of 5 members") && text.contains("3 are needed"), "{text}");
    for server in &servers {
        assert!(text.contains(&server.address().to_string()), "{text}");
    }
    for _ in 0..3 {
        // What the two others granted before may not be given back yet.
        let outcome = tenure.mutex("a").ttl(TTL).try_lock().await;
        assert!(!matches!(outcome, Ok(Some(_))), "granted by two of five");
    }
    for server in &servers[1..3] {
        signal(server, "-CONT");
    }
    until("nothing is left", async || servers[1..].iter().all(|one| lock_keys(one).is_empty()))
        .await;
    let again = locked(&tenure, "a").await;
    assert!(again.token() > token);
}

/// A lock is held by the members 0 and 1 alone, member 1 loses its memory and comes back at once,
/// and a process that never saw any of them before asks the members 1 and 2.
async fn emptied_while_held(empty: impl FnOnce(&mut RedisServer)) {
    let mut servers = servers(2);
    // This one keeps its memory when it is killed.
    servers.push(RedisServer::with(&["--appendonly", "yes", "--appendfsync", "always"]));
    let holder = quorum(&servers, LONGEST).await;
    servers[2].kill();
    let lock = name("a");
    let asked = Instant::now();
    let first = token(&holder.acquire(&lock, &ask(1, LONGEST)).await.unwrap()).unwrap();
    empty(&mut servers[1]);
    servers[2].restart();
    // What the holder counts on: the lease from the sending of its ask.
    let held_until = asked + LONGEST;
    let contender = quorum(&servers, LONGEST).await;
    let mut number = 2;
    let next = loop {
        let answer = contender.acquire(&lock, &ask(number, TTL)).await;
        if let Some(token) = answer.ok().as_ref().and_then(token) {
            break token;
        }
        contender.release(&lock, &ask(number, TTL).owner, Duration::ZERO).await.ok();
        number = number.wrapping_add(1).max(2);
        assert!(asked.elapsed() < PATIENCE, "never granted again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(Instant::now() >= held_until, "two hold the lock: {first} and {next}");
    assert!(next > first, "{next} after {first}");
}

#[tokio::test]
async fn a_member_that_was_flushed_does_not_let_in_a_second_holder() {
    emptied_while_held(|server| {
        server.command(&["FLUSHALL"]);
    })
    .await;
}

#[tokio::test]
async fn a_member_that_restarted_empty_does_not_let_in_a_second_holder() {
    emptied_while_held(RedisServer::restart).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_rise_while_members_stop_and_lose_their_memory() {
    let mut servers = servers(5);
    let tenure = Tenure::new(Arc::new(quorum(&servers, TTL * 2).await));
    let mut last = None;
    for round in 0..9_usize {
        let member = round % 5;
        match round % 3 {
            0 => servers[member].restart(),
            1 => {
                servers[member].command(&["FLUSHALL"]);
            }
            _ => signal(&servers[member], "-STOP"),
        }
        let guard = locked(&tenure, "a").await;
        assert!(Some(guard.check().unwrap()) > last, "{} after {last:?}", guard.token());
        last = Some(guard.token());
        guard.release().await.unwrap();
        if round % 3 == 2 {
            signal(&servers[member], "-CONT");
        }
    }
}

#[tokio::test]
async fn a_hold_comes_back_to_a_member_that_lost_it() {
    let mut servers = servers(3);
    let tenure = Tenure::new(Arc::new(quorum(&servers, LONGEST).await));
    let guard = locked(&tenure, "a").await;
    servers[0].restart();
    until("the hold is renewed there", async || !lock_keys(&servers[0]).is_empty()).await;
    guard.check().unwrap();
    guard.release().await.unwrap();
    until("it is released everywhere", async || {
        servers.iter().all(|server| lock_keys(server).is_empty())
    })
    .await;
}

#[tokio::test]
async fn health_shows_every_member() {
    let mut servers = servers(3);
    let store = quorum(&servers, LONGEST).await;
    servers[2].kill();
    let findings = store.health().await.unwrap();
    for server in &servers {
        let address = server.address().to_string();
        assert!(findings.iter().any(|one| one.what.contains(&address)), "{findings:?}");
    }
    let majority = findings.iter().find(|one| one.what == "majority").unwrap();
    assert!(majority.found.starts_with("2 of 3"), "{majority:?}");
}
