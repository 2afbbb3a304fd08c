//! Five real servers, of which some stop, freeze, and lose their memory.

use std::{
    fs,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use tenure_core::proto::rule::{Rule, break_rule};
use tenure_core::{AcquireError, DowngradeError, Guard, Store, Tenure, store::Renewal};
use tenure_quorum::{QuorumOptions, QuorumStore};
use tenure_servers::RedisServer;

use crate::support::{
    PATIENCE, ask, lock_keys, members, name, quorum, servers, signal, token, until,
};

pub(crate) const LONGEST: Duration = Duration::from_secs(4);
const TTL: Duration = Duration::from_secs(1);

/// Locks, also when no majority answers for a while.
pub(crate) async fn locked(tenure: &Tenure, lock: &str) -> Guard {
    let began = Instant::now();
    loop {
        match tenure.mutex(lock).ttl(TTL).lock().wait(PATIENCE).await {
            Ok(guard) => return guard,
            Err(error) => assert!(began.elapsed() < PATIENCE, "{error:#}"),
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
    let text = format!("{error:#}");
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

/// A lock is held by the members 0 and 1 alone, member 1 loses memory and comes back at once, and a
/// process that never saw any of them before asks the members 1 and 2. Whether it was granted while the
/// first one could still count on its lease.
async fn two_hold<S>(
    settings: &[&str],
    save: impl FnOnce(&RedisServer) -> S,
    lose: impl FnOnce(&mut RedisServer, S),
) -> bool {
    let mut servers = servers(3);
    servers[1] = RedisServer::with(settings);
    let holder = quorum(&servers, LONGEST).await;
    let saved = save(&servers[1]);
    servers[2].command(&["ACL", "SETUSER", "default", "-@scripting"]);
    let lock = name("a");
    let asked = Instant::now();
    let first = token(&holder.acquire(&lock, &ask(1, LONGEST)).await.unwrap()).unwrap();
    lose(&mut servers[1], saved);
    servers[2].command(&["ACL", "SETUSER", "default", "+@all"]);
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
    assert!(next > first, "{next} after {first}");
    Instant::now() < held_until
}

#[tokio::test]
async fn a_member_that_was_flushed_does_not_let_in_a_second_holder() {
    let flush = |server: &mut RedisServer, ()| {
        server.command(&["FLUSHALL"]);
    };
    assert!(!two_hold(MEMORY_ALONE, |_| (), flush).await);
}

#[tokio::test]
async fn a_member_that_restarted_empty_does_not_let_in_a_second_holder() {
    assert!(!two_hold(MEMORY_ALONE, |_| (), |server, ()| server.restart()).await);
}

const MEMORY_ALONE: &[&str] = &["--save", "", "--appendonly", "no"];
const WRITTEN: &[&str] = &["--save", "", "--appendonly", "yes", "--appendfsync", "always"];

/// What the server has written until now.
fn written(server: &RedisServer) -> Vec<(PathBuf, Vec<u8>)> {
    let files = fs::read_dir(server.folder().join("appendonlydir")).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    paths.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// It crashes, and what it wrote since is not on its disk: `appendfsync everysec` allows it.
fn lose_the_last_second(server: &mut RedisServer, files: Vec<(PathBuf, Vec<u8>)>) {
    server.kill();
    for (path, content) in files {
        fs::write(path, content).unwrap();
    }
    server.restart();
}

#[tokio::test]
async fn a_member_that_forgot_its_last_second_does_not_let_in_a_second_holder() {
    assert!(!two_hold(WRITTEN, written, lose_the_last_second).await);
}

/// The hole that is closed by it.
#[tokio::test]
async fn counted_at_once_a_member_that_forgot_its_last_second_lets_in_a_second_holder() {
    let _broken = break_rule(Rule::RestartedMemberKeptOut);
    assert!(two_hold(WRITTEN, written, lose_the_last_second).await);
}

#[tokio::test]
async fn after_a_restart_of_all_members_nothing_is_granted_for_one_longest_lease() {
    let mut servers: Vec<_> = (0..3).map(|_| RedisServer::with(WRITTEN)).collect();
    let before = Tenure::new(Arc::new(quorum(&servers, LONGEST).await));
    let token = locked(&before, "a").await.token();
    let restarted = Instant::now();
    servers.iter_mut().for_each(RedisServer::restart);
    let store = quorum(&servers, LONGEST).await;
    let diagnostics = store.health().await.unwrap();
    let kept_out = diagnostics.iter().filter(|one| one.found.contains("it restarted")).count();
    assert_eq!(kept_out, 3, "{diagnostics:?}");
    let marks = marks(&servers).await;
    let after = Tenure::new(Arc::new(store));
    let error = format!("{:#}", after.mutex("b").ttl(TTL).try_lock().await.unwrap_err());
    assert!(error.contains("it restarted"), "{error:#}");
    // Who looks in between, and who comes new, waits no longer and lets nobody wait longer.
    let guard = loop {
        let new = Tenure::new(Arc::new(quorum(&servers, LONGEST).await));
        if let Ok(Some(guard)) = new.mutex("a").ttl(TTL).try_lock().await {
            break guard;
        }
        assert!(restarted.elapsed() < PATIENCE, "never granted again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(Instant::now() >= restarted + LONGEST, "granted at once");
    assert!(guard.token() > token);
    assert_eq!(self::marks(&servers).await, marks);
}

/// The marks of all members, in words.
async fn marks(servers: &[RedisServer]) -> Vec<String> {
    let mut marks = Vec::new();
    for member in members(servers) {
        let seen = member.inspect(&name("tenure:quorum")).await.unwrap();
        marks.push(seen.holders[0].label.clone());
    }
    marks
}

#[tokio::test]
async fn a_renewal_counts_no_member_whose_mark_cannot_be_seen() {
    let servers = servers(3);
    let store = quorum(&servers, LONGEST).await;
    let hold = ask(1, LONGEST);
    assert!(token(&store.acquire(&name("a"), &hold).await.unwrap()).is_some());
    for server in &servers[..2] {
        server.command(&["ACL", "SETUSER", "default", "-info"]);
    }
    let renewal = Renewal { name: name("a"), owner: hold.owner, ttl: LONGEST };
    assert!(matches!(store.renew(&[renewal]).await[..], [Err(_)]));
}

#[tokio::test]
async fn nobody_is_told_that_it_still_writes_alone_when_members_let_readers_in() {
    let servers = servers(3);
    let tenure = Tenure::new(Arc::new(quorum(&servers, LONGEST).await));
    let writing = tenure.rwlock("a").ttl(TTL).write().await.unwrap();
    // The members do what they are asked for, and only their marks cannot be seen.
    for server in &servers[..2] {
        server.command(&["ACL", "SETUSER", "default", "-info"]);
    }
    let error = writing.downgrade().await.unwrap_err();
    // On a slow machine its deadline comes before the last answer.
    let unsure = matches!(error, DowngradeError::InDoubt { .. } | DowngradeError::Lost(_));
    assert!(unsure, "{error:#}");
}

#[tokio::test]
async fn members_that_do_not_tell_of_restarts_are_refused_unless_they_lose_nothing() {
    let servers = servers(3);
    for server in &servers {
        server.command(&["ACL", "SETUSER", "default", "-info"]);
    }
    let blind = Tenure::new(Arc::new(quorum(&servers, LONGEST).await));
    let error = blind.mutex("a").ttl(TTL).try_lock().await.unwrap_err();
    assert!(matches!(error, AcquireError::Misconfigured(_)), "{error:?}");
    assert!(format!("{error:#}").contains("may not be counted"), "{error:#}");
    let options = QuorumOptions::new().longest_lease(LONGEST).unwrap().durable_members(true);
    let durable = QuorumStore::open(members(&servers), options).await.unwrap();
    locked(&Tenure::new(Arc::new(durable)), "a").await.release().await.unwrap();
}

#[tokio::test]
async fn members_that_lose_nothing_are_counted_at_once_after_a_restart() {
    let mut servers: Vec<_> = (0..3).map(|_| RedisServer::with(WRITTEN)).collect();
    // Nobody waits for this to pass here.
    let longest = PATIENCE * 20;
    let durable = async |servers: &[RedisServer]| {
        let options = QuorumOptions::new().longest_lease(longest).unwrap().durable_members(true);
        QuorumStore::open(members(servers), options).await
    };
    let before = Tenure::new(Arc::new(durable(&servers).await.unwrap()));
    let held = locked(&before, "a").await;
    servers.iter_mut().for_each(RedisServer::restart);
    let after = Tenure::new(Arc::new(durable(&servers).await.unwrap()));
    locked(&after, "b").await.release().await.unwrap();
    assert!(after.mutex("a").try_lock().await.unwrap().is_none(), "{held:?} is forgotten");
    // Somebody who says otherwise is told.
    let fault =
        QuorumStore::open(members(&servers), QuorumOptions::new().longest_lease(longest).unwrap())
            .await
            .unwrap_err();
    assert!(fault.help().contains("durable_members"), "{fault:#}");
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
    let diagnostics = store.health().await.unwrap();
    for server in &servers {
        let address = server.address().to_string();
        assert!(diagnostics.iter().any(|one| one.what.contains(&address)), "{diagnostics:?}");
    }
    let majority = diagnostics.iter().find(|one| one.what == "majority").unwrap();
    assert!(majority.found.starts_with("2 of 3"), "{majority:?}");
}
