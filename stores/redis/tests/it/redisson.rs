//! Redisson's layout on a real server, where no Redisson is needed to see it.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tenure_core::{Tenure, store::Severity};
use tenure_servers::{RedisCluster, RedisServer, SentinelService, redis::Reply};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::support::{PATIENCE, hold, lost, tenure, until};

const KEY: &str = "stock:42";
const TTL: Duration = Duration::from_secs(2);
/// As Redisson names a thread of a client.
const JAVA: &str = "0fe07e3c-5bbd-4e24-8ee7-6a5d4c3b2a19:47";
const CHANNEL: &str = "redisson_lock__channel:{stock:42}";
const CHANNEL_OF_READERS: &str = "redisson_rwlock:{stock:42}";

fn ours(server: &RedisServer) -> Tenure {
    tenure(&format!("{}?layout=redisson", server.url()))
}

fn number(server: &RedisServer, words: &[&str]) -> i64 {
    match server.command(words) {
        Reply::Text(number) => number.parse().unwrap(),
        other => panic!("{words:?}: {other:?}"),
    }
}

/// Takes the lock as Redisson's scripts do.
fn java_holds(server: &RedisServer, fields: &[&str]) {
    server.command(&[&["HSET", KEY], fields].concat());
    server.command(&["PEXPIRE", KEY, "60000"]);
}

async fn until_heard(server: &RedisServer, channel: &str, clients: i64) {
    until("somebody listens", async || match server.command(&["PUBSUB", "NUMSUB", channel]) {
        Reply::List(told) => told[1] == Reply::Text(clients.to_string()),
        other => panic!("{other:?}"),
    })
    .await;
}

async fn refused(tenure: &Tenure, says: &str) {
    let fault = tenure.mutex(KEY).try_lock().await.unwrap_err();
    assert!(format!("{fault:#}").contains(says), "{fault:#}");
}

#[tokio::test]
async fn a_lock_is_a_hash_with_a_ttl_and_its_release_is_announced() {
    let server = RedisServer::start();
    let tenure = ours(&server);
    let guard = hold(&tenure, KEY, TTL).await;
    assert_eq!(number(&server, &["HLEN", KEY]), 2);
    // So that Redisson's readers and writers, which look for a mode, take no mutex for a free name.
    assert_eq!(server.command(&["HGET", KEY, "mode"]), Reply::Text("lock".into()));
    assert!(number(&server, &["PTTL", KEY]) > 0);
    let other = ours(&server);
    let waiting = tokio::spawn(other.mutex(KEY).lock().wait(PATIENCE).into_future());
    until_heard(&server, CHANNEL, 1).await;
    guard.release().await.unwrap();
    waiting.await.unwrap().unwrap().release().await.unwrap();
    assert_eq!(number(&server, &["EXISTS", KEY]), 0);
}

/// Only the message can wake it so soon: the lease ends in a minute.
#[tokio::test]
async fn a_waiter_behind_redisson_hears_its_release() {
    let server = RedisServer::start();
    let tenure = ours(&server);
    java_holds(&server, &[JAVA, "1"]);
    assert!(tenure.mutex(KEY).try_lock().await.unwrap().is_none());
    let seen = tenure.inspect(KEY).await.unwrap();
    assert_eq!(seen.holders[0].label, format!("(Redisson) {JAVA}"));
    assert!(seen.holders[0].left.unwrap() <= Duration::from_secs(60));
    let waiting = tokio::spawn(tenure.mutex(KEY).lock().wait(PATIENCE).into_future());
    until_heard(&server, CHANNEL, 1).await;
    server.command(&["DEL", KEY]);
    server.command(&["PUBLISH", CHANNEL, "0"]);
    let held = waiting.await.unwrap().unwrap();
    // Whoever listens is taken for one that waits.
    until_heard(&server, CHANNEL, 0).await;
    held.check().unwrap();
}

/// A way to the server that breaks once, as the channel of the lock is subscribed to over it.
async fn way_that_breaks_once(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let breaks = Arc::new(AtomicBool::new(true));
    tokio::spawn(async move {
        loop {
            let (near, _) = listener.accept().await.unwrap();
            let far = TcpStream::connect(server).await.unwrap();
            let ((mut asks, mut told), (mut tells, mut asked)) =
                (near.into_split(), far.into_split());
            let breaks = breaks.clone();
            let there = async move {
                let mut some = vec![0; 65_536];
                while let Ok(count @ 1..) = asks.read(&mut some).await {
                    let said = String::from_utf8_lossy(&some[..count]);
                    let subscribes = said.contains("SUBSCRIBE") && said.contains(CHANNEL);
                    if subscribes && breaks.swap(false, Ordering::Relaxed) {
                        return;
                    }
                    asked.write_all(&some[..count]).await.unwrap();
                }
            };
            tokio::spawn(async move {
                tokio::select! {
                    () = there => {}
                    _ = tokio::io::copy(&mut tells, &mut told) => {}
                }
            });
        }
    });
    address
}

/// It is no refusal, after which nobody would try again for half a minute.
#[tokio::test]
async fn a_connection_that_breaks_while_it_subscribes_is_followed_by_another() {
    let server = RedisServer::start();
    let way = way_that_breaks_once(server.address()).await;
    let tenure = tenure(&format!("redis://{way}?layout=redisson"));
    java_holds(&server, &[JAVA, "1"]);
    let waiting = tokio::spawn(tenure.mutex(KEY).lock().wait(PATIENCE).into_future());
    until_heard(&server, CHANNEL, 1).await;
    server.command(&["DEL", KEY]);
    server.command(&["PUBLISH", CHANNEL, "0"]);
    waiting.await.unwrap().unwrap().check().unwrap();
}

#[tokio::test]
async fn a_forced_unlock_loses_the_hold() {
    let server = RedisServer::start();
    let guard = hold(&ours(&server), KEY, TTL).await;
    server.command(&["DEL", KEY]);
    java_holds(&server, &[JAVA, "1"]);
    lost(&guard).await;
    drop(guard);
    assert_eq!(number(&server, &["HLEN", KEY]), 1);
}

#[tokio::test]
async fn readers_have_leases_and_a_downgrade_is_announced() {
    let server = RedisServer::start();
    let (one, other) = (ours(&server), ours(&server));
    let writing = one.rwlock(KEY).write().ttl(TTL).await.unwrap();
    let token = writing.token();
    assert_eq!(server.command(&["HGET", KEY, "mode"]), Reply::Text("write".into()));
    let reader = tokio::spawn(other.rwlock(KEY).read().ttl(TTL).wait(PATIENCE).into_future());
    until_heard(&server, CHANNEL_OF_READERS, 1).await;
    let reading = writing.downgrade().await.unwrap();
    assert_eq!(reading.check().unwrap(), token);
    let also = reader.await.unwrap().unwrap();
    assert_eq!(server.command(&["HGET", KEY, "mode"]), Reply::Text("read".into()));
    let leases = || server.keys().iter().filter(|key| key.contains(":rwlock_timeout:1")).count();
    assert_eq!(leases(), 2);
    // Longer than a ttl.
    let first = also.deadline();
    until("it is renewed", async || also.deadline() > first.saturating_add(TTL)).await;
    assert_eq!(leases(), 2);
    reading.release().await.unwrap();
    also.check().unwrap();
    also.release().await.unwrap();
    assert_eq!((leases(), number(&server, &["EXISTS", KEY])), (0, 0));
}

/// Else the writer would wait for a reader that is gone.
#[tokio::test]
async fn a_dead_reader_of_redisson_is_waited_for_no_longer_than_its_lease() {
    let server = RedisServer::start();
    let tenure = ours(&server);
    let reading = tenure.rwlock(KEY).read().ttl(Duration::from_secs(600)).await.unwrap();
    server.command(&["HSET", KEY, JAVA, "2"]);
    assert_eq!(tenure.inspect(KEY).await.unwrap().holders.len(), 1);
    let lease = format!("{{{KEY}}}:{JAVA}:rwlock_timeout:2");
    server.command(&["SET", &lease, "1", "PX", "60000"]);
    assert_eq!(tenure.inspect(KEY).await.unwrap().holders.len(), 2);
    reading.release().await.unwrap();
    assert!((1..=60_000).contains(&number(&server, &["PTTL", KEY])));
    server.command(&["DEL", &lease]);
    let again = tenure.rwlock(KEY).read().await.unwrap();
    again.release().await.unwrap();
    assert_eq!(number(&server, &["EXISTS", KEY]), 0);
}

#[tokio::test]
async fn what_is_no_lock_of_this_kind_is_neither_taken_nor_deleted() {
    let server = RedisServer::start();
    let tenure = ours(&server);
    server.command(&["SET", KEY, "theirs", "PX", "60000"]);
    refused(&tenure, "is no lock of Redisson's").await;
    server.command(&["DEL", KEY]);
    java_holds(&server, &["mode", "read", JAVA, "1"]);
    refused(&tenure, "another kind of lock").await;
    server.command(&["DEL", KEY]);
    java_holds(&server, &[JAVA, "1"]);
    let read = tenure.rwlock(KEY).read().await.unwrap_err();
    assert!(format!("{read:#}").contains("another kind of lock"), "{read:#}");
    server.command(&["PERSIST", KEY]);
    assert!(tenure.store().evict(&crate::support::name(KEY)).await.is_err());
    // Hashes of other programs: one says how something is done, the other counts.
    for fields in [["mode", "auto", "temperature", "21"], ["mode", "read", "apples", "3"]] {
        server.command(&["DEL", KEY]);
        java_holds(&server, &fields);
        let read = tenure.rwlock(KEY).try_read().await.unwrap_err();
        assert!(format!("{read:#}").contains("no lock of Redisson's"), "{read:#}");
        assert!(tenure.store().evict(&crate::support::name(KEY)).await.is_err());
        assert_eq!(number(&server, &["HLEN", KEY]), 2);
    }
    server.command(&["DEL", KEY]);
    java_holds(&server, &["apples", "3"]);
    refused(&tenure, "no lock of Redisson's").await;
    assert!(tenure.store().evict(&crate::support::name(KEY)).await.is_err());
    assert!(tenure.list("").await.unwrap().names.is_empty());
}

#[tokio::test]
async fn a_fair_queue_is_refused_and_left_alone() {
    let server = RedisServer::start();
    let queue = format!("redisson_lock_queue:{{{KEY}}}");
    server.command(&["RPUSH", &queue, JAVA]);
    let tenure = ours(&server);
    refused(&tenure, "RFairLock").await;
    assert_eq!(number(&server, &["EXISTS", KEY]), 0);
    // As soon as it is asked for, whoever holds it.
    java_holds(&server, &[JAVA, "1"]);
    refused(&tenure, "RFairLock").await;
    assert_eq!(number(&server, &["LLEN", &queue]), 1);
}

#[tokio::test]
async fn tokens_are_those_of_the_fenced_lock_if_that_is_wanted() {
    let server = RedisServer::start();
    let counter = format!("redisson_lock_token:{{{KEY}}}");
    server.command(&["SET", &counter, "41"]);
    refused(&ours(&server), "tokens=fenced").await;
    let fenced = tenure(&format!("{}?layout=redisson&tokens=fenced", server.url()));
    let guard = hold(&fenced, KEY, TTL).await;
    assert_eq!(guard.token().get(), 42);
    assert_eq!(fenced.inspect(KEY).await.unwrap().holders[0].token, Some(guard.token()));
    guard.release().await.unwrap();
    assert_eq!(hold(&fenced, KEY, TTL).await.token().get(), 43);
    assert_eq!(number(&server, &["GET", &counter]), 43);
    fenced.health().await.unwrap();
    let counters = server.keys().into_iter().filter(|key| key.starts_with("redisson_lock_token"));
    assert!(counters.eq([&*counter]), "a look leaves none");
    server.command(&["DEL", KEY]);
    for no_number in ["no number", "007"] {
        server.command(&["SET", &counter, no_number]);
        let error = fenced.mutex(KEY).try_lock().await.unwrap_err();
        assert!(!format!("{error:#}").contains("log"), "{error:#}");
    }
    assert_eq!(number(&server, &["EXISTS", KEY]), 0);
}

#[tokio::test]
async fn the_hold_that_was_seen_is_evicted_alone() {
    let server = RedisServer::start();
    let tenure = ours(&server);
    let reading = tenure.rwlock(KEY).read().ttl(PATIENCE).await.unwrap();
    let lease = format!("{{{KEY}}}:{JAVA}:rwlock_timeout:1");
    server.command(&["HSET", KEY, JAVA, "1"]);
    server.command(&["SET", &lease, "1", "PX", "60000"]);
    let seen = tenure.inspect(KEY).await.unwrap();
    let java = seen.holders.iter().find(|holder| holder.label.contains(JAVA)).unwrap();
    let evicted = tenure.store().evict_hold(&crate::support::name(KEY), java.id.unwrap()).await;
    assert_eq!(evicted.unwrap().unwrap().label, java.label);
    assert_eq!(number(&server, &["EXISTS", &lease]), 0);
    reading.check().unwrap();
    assert_eq!(tenure.inspect(KEY).await.unwrap().holders.len(), 1);
    server.command(&["HSET", "session:1", "user", "x"]);
    let listed = tenure.list("stock").await.unwrap().names;
    assert_eq!(listed.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), [KEY]);
}

#[tokio::test]
async fn what_the_layout_cannot_share_is_refused_with_the_reason() {
    let server = RedisServer::start();
    let tenure = ours(&server);
    let fair = tenure.mutex(KEY).lock().fair().await.unwrap_err();
    assert!(format!("{fair:#}").contains("clocks of its clients"), "{fair:#}");
    let permits = tenure.semaphore(KEY, 2).acquire().await.unwrap_err();
    assert!(format!("{permits:#}").contains("for ever"), "{permits:#}");
    assert!(tenure.latch(KEY, 2).arrive("a").await.is_err());
    assert!(server.keys().iter().all(|key| !key.contains("stock")), "{:?}", server.keys());
}

#[tokio::test]
async fn sentinels_lead_to_the_keys_of_redisson_too() {
    let service = SentinelService::start();
    let tenure = tenure(&format!("{}&layout=redisson&key_prefix=app:", service.url()));
    let first = hold(&tenure, "a", PATIENCE).await;
    let server = &service.servers[service.primary().unwrap()];
    assert_eq!(number(server, &["HLEN", "app:a"]), 2);
    let token = first.token();
    first.release().await.unwrap();
    assert!(hold(&tenure, "a", PATIENCE).await.token() > token);
}

/// Redisson's clients announce releases at the node of the lock alone: only that can wake a waiter so soon.
#[tokio::test]
async fn in_a_cluster_a_waiter_hears_what_is_said_at_the_node_of_its_lock() {
    let cluster = RedisCluster::start();
    let tenure = tenure(&format!("{}?layout=redisson", cluster.url()));
    let mut waiting = Vec::new();
    let names: Vec<_> = (0..6).map(|number| format!("stock:{number}")).collect();
    let at_its_node = |name: &str, words: &[&str]| {
        cluster
            .running()
            .find_map(|server| match server.command(words) {
                Reply::Error(_) => None,
                told => Some(told),
            })
            .unwrap_or_else(|| panic!("no node has {name}"))
    };
    for name in &names {
        at_its_node(name, &["HSET", name, JAVA, "1"]);
        at_its_node(name, &["PEXPIRE", name, "600000"]);
        let mutex = tenure.mutex(name);
        waiting.push(tokio::spawn(async move { mutex.lock().wait(PATIENCE).await }));
    }
    for (name, waiting) in names.iter().zip(waiting) {
        let channel = format!("redisson_lock__channel:{{{name}}}");
        let heard =
            |told: &Reply| matches!(told, Reply::List(told) if told[1] == Reply::Text("1".into()));
        until("it listens there", async || {
            cluster
                .running()
                .any(|server| heard(&server.command(&["PUBSUB", "SHARDNUMSUB", &channel])))
        })
        .await;
        at_its_node(name, &["DEL", name]);
        at_its_node(name, &["SPUBLISH", &channel, "0"]);
        waiting.await.unwrap().unwrap().release().await.unwrap();
    }
    let torn = tenure.mutex("a{b").try_lock().await.unwrap_err();
    assert!(format!("{torn:#}").contains("no hash tag"), "{torn:#}");
}

/// What tenure announces comes in the other way.
#[tokio::test]
async fn in_a_cluster_a_user_that_hears_no_node_hears_the_others() {
    let cluster = RedisCluster::start();
    let url = format!("{}?layout=redisson", cluster.url());
    let hints = async || {
        let found = tenure(&url).health().await.unwrap();
        found.into_iter().find(|diagnostic| diagnostic.what == "hints").unwrap()
    };
    let found = hints().await;
    assert_eq!(found.severity, Severity::Good, "{found:?}");
    for server in cluster.running() {
        server.command(&["ACL", "SETUSER", "default", "-ssubscribe"]);
    }
    let found = hints().await;
    assert!(found.found.contains("no message of releases arrives"), "{found:?}");
    let (one, other) = (tenure(&url), tenure(&url));
    let held = hold(&one, KEY, PATIENCE * 2).await;
    let waiting = tokio::spawn(other.mutex(KEY).lock().wait(PATIENCE * 2).into_future());
    until("it listens somewhere", async || {
        cluster.running().any(|server| match server.command(&["PUBSUB", "NUMSUB", CHANNEL]) {
            Reply::List(told) => told[1] == Reply::Text("1".into()),
            other => panic!("{other:?}"),
        })
    })
    .await;
    held.release().await.unwrap();
    waiting.await.unwrap().unwrap().check().unwrap();
}

/// Redisson's watchdog of readers sets the ttl of the hash to its timeout, however long others read.
#[tokio::test]
async fn a_reader_counts_on_no_more_than_the_watchdog_of_redisson_leaves() {
    let server = RedisServer::start();
    let url = format!("{}?layout=redisson&lock_watchdog_timeout=3s", server.url());
    let tenure = tenure(&url);
    let reading = tenure.rwlock(KEY).read().ttl(Duration::from_secs(600)).await.unwrap();
    assert!(number(&server, &["PTTL", KEY]) <= 3_000);
    let first = reading.deadline();
    server.command(&["PEXPIRE", KEY, "3000"]);
    until("it is renewed", async || reading.deadline() > first).await;
    let seen = tenure.inspect(KEY).await.unwrap();
    assert!(seen.holders[0].left.unwrap() <= Duration::from_secs(3));
    reading.check().unwrap();
    reading.release().await.unwrap();
    // A writer that becomes a reader keeps its lease.
    let writing = tenure.rwlock(KEY).write().ttl(Duration::from_secs(600)).await.unwrap();
    let reading = writing.downgrade().await.unwrap();
    let first = reading.deadline();
    until("it is renewed", async || reading.deadline() > first).await;
    reading.check().unwrap();
}

/// The watchdog of this process, which renews a reader in time, is gone then.
#[tokio::test]
async fn a_reader_is_detached_for_as_long_as_the_watchdog_of_redisson_leaves() {
    let server = RedisServer::start();
    let tenure = ours(&server);
    let (most, more) = (Duration::from_secs(30), Duration::from_millis(30_001));
    let detach = tenure.rwlock(KEY).read().await.unwrap().detach().lease(more);
    let error = detach.handle().unwrap_err();
    assert!(format!("{error:#}").contains("only up to 30s"), "{error:#}");
    assert_eq!(number(&server, &["HLEN", KEY]), 2, "it is still held");
    detach.lease(most).await.unwrap();
    let handle = tenure.rwlock(KEY).read().await.unwrap().detach().await.unwrap().handle;
    assert_eq!((handle.lease(), number(&server, &["HLEN", KEY])), (most, 3));
    tenure.renew_detached(&handle, more).await.unwrap_err();
    tenure.renew_detached(&handle, most).await.unwrap();
}

/// Each of tenure's readers has a field of its own, and a dead one takes none away.
#[tokio::test]
async fn dead_readers_shut_nobody_out() {
    let server = RedisServer::start();
    let tenure = ours(&server);
    let _reading = tenure.rwlock(KEY).read().await.unwrap();
    let dead = |reader| [format!("00112233-4455-6677-8899-{reader:012x}:tenure"), "1".into()];
    let fields: Vec<String> = (0..2_000).flat_map(dead).collect();
    let fields = fields.iter().map(String::as_str);
    server.command(&["HSET", KEY].into_iter().chain(fields).collect::<Vec<_>>());
    tenure.rwlock(KEY).try_read().await.unwrap().unwrap().release().await.unwrap();
    assert_eq!(number(&server, &["HLEN", KEY]), 2);
}

/// Its hints of other things go on, and it looks by itself.
#[tokio::test]
async fn a_user_that_may_not_hear_of_releases_connects_no_more_than_before() {
    let server = RedisServer::start();
    let rights = "ACL SETUSER half on >secret ~* resetchannels &tenure:* +@all";
    server.command(&rights.split_whitespace().collect::<Vec<_>>());
    let url = server.url().replace("redis://", "redis://half:secret@");
    let tenure = tenure(&format!("{url}?layout=redisson"));
    java_holds(&server, &[JAVA, "1"]);
    let waiting = tokio::spawn(tenure.mutex(KEY).lock().wait(PATIENCE).into_future());
    let told = async |word: &str| {
        let Reply::Text(told) = server.command(&["INFO", "commandstats"]) else { panic!() };
        let line = told.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{word}:")));
        let calls = line.and_then(|line| line.strip_prefix("calls=")?.split(',').next());
        calls.map_or(0, |calls| calls.parse::<u64>().unwrap())
    };
    until("it asks again and again", async || told("evalsha").await > 12).await;
    assert!(told("hello").await <= 4, "{}", told("hello").await);
    until_heard(&server, "tenure:evicted", 1).await;
    server.command(&["DEL", KEY]);
    waiting.await.unwrap().unwrap().check().unwrap();
    let found = tenure.health().await.unwrap();
    let hints = found.into_iter().find(|diagnostic| diagnostic.what == "hints").unwrap();
    assert!(hints.found.contains("no message"), "{hints:?}");
}

#[tokio::test]
async fn a_look_at_the_server_names_the_locks_of_other_libraries() {
    let server = RedisServer::start();
    let other_libraries = async |url: &str| {
        let found = tenure(url).health().await.unwrap();
        let one = found.into_iter().find(|diagnostic| diagnostic.what == "other libraries");
        one.map(|diagnostic| diagnostic.found)
    };
    server.command(&["HSET", "session:1", "user", "somebody"]);
    server.command(&["PEXPIRE", "session:1", "60000"]);
    server.command(&["SET", "page", "<html>", "PX", "60000"]);
    assert_eq!(other_libraries(&server.url()).await, None);
    java_holds(&server, &[JAVA, "1"]);
    let shed = "ADDED:2026-11-27T10:00:00.000Z@worker-7";
    server.command(&["SET", "job-lock:default:nightly", shed, "PX", "60000"]);
    server.command(&["SET", "plain", "0fe07e3c-5bbd-4e24-8ee7-6a5d4c3b2a19", "PX", "60000"]);
    let found = other_libraries(&server.url()).await.unwrap();
    assert!(found.contains("\"stock:42\" looks like a lock of Redisson's"), "{found}");
    assert!(found.contains("nightly\" looks like a lock of ShedLock's"), "{found}");
    assert!(found.contains("\"plain\" looks like a plain lock"), "{found}");
    let in_its_layout = format!("{}?layout=redisson", server.url());
    assert_eq!(other_libraries(&in_its_layout).await, None);
}
