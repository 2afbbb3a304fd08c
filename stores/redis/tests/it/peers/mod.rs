//! The plain layout beside the real libraries that it shares keys with, on a real server.

mod program;

use std::{fs, path::Path, time::Duration};

use tenure_core::{AcquireError, Tenure};
use tenure_servers::{RedisServer, redis::Reply};

use self::program::{Library, Peer};
use crate::support::{PATIENCE, hold, lost, name, tenure, until};

const KEY: &str = "stock:42";
const TTL: Duration = Duration::from_secs(2);

/// How often each process takes the lock.
const TURNS: usize = 25;

fn ours(server: &RedisServer) -> Tenure {
    tenure(&format!("{}?layout=plain", server.url()))
}

fn beside(library: Library, server: &RedisServer) -> Tenure {
    match library {
        Library::SpringPubSub => {
            tenure(&format!("{}?layout=plain&unlock_channel=stock-channel:*", server.url()))
        }
        _ => ours(server),
    }
}

fn theirs(library: Library, server: &RedisServer) -> Peer {
    Peer::start(library, server.address().port(), TTL, KEY)
}

async fn count(tenure: Tenure, turns: usize, file: &Path) {
    for _ in 0..turns {
        let guard = hold(&tenure, KEY, TTL).await;
        let number: usize = fs::read_to_string(file).unwrap().parse().unwrap();
        fs::write(file, (number + 1).to_string()).unwrap();
        guard.release().await.unwrap();
    }
}

async fn no_increment_is_lost(library: Library) {
    let server = RedisServer::start();
    let file = server.folder().join("counter");
    fs::write(&file, "0").unwrap();
    let mut peers = [(); 2].map(|()| theirs(library, &server));
    for peer in &mut peers {
        peer.tell(&format!("count {TURNS} {}", file.display())).await;
    }
    let [one, other] = [(); 2].map(|()| beside(library, &server));
    tokio::join!(count(one, TURNS, &file), count(other, TURNS, &file));
    for peer in &mut peers {
        peer.says("done").await;
    }
    assert_eq!(fs::read_to_string(file).unwrap(), (4 * TURNS).to_string());
}

async fn each_waits_for_the_other(library: Library) {
    let server = RedisServer::start();
    let (tenure, mut peer) = (beside(library, &server), theirs(library, &server));
    peer.tell("hold").await;
    peer.says("held").await;
    let busy = tenure.mutex(KEY).lock().wait(Duration::from_millis(200)).await.unwrap_err();
    let AcquireError::TimedOut(busy) = busy else { panic!("{busy:?}") };
    assert_eq!(busy.holder.unwrap().label, "(another library)");
    peer.tell("release").await;
    peer.says("released").await;
    let guard = hold(&tenure, KEY, TTL).await;
    peer.tell("hold").await;
    // Longer than a ttl: it is renewed, and they see that.
    tokio::time::sleep(TTL + TTL / 4).await;
    guard.check().unwrap();
    guard.release().await.unwrap();
    peer.says("held").await;
    // A killed one frees the lock at the end of its lease.
    peer.kill().await;
    hold(&tenure, KEY, TTL).await.release().await.unwrap();
}

async fn an_operator_takes_the_lock_of_the_hold_that_was_seen(library: Library) {
    let server = RedisServer::start();
    let (tenure, mut peer) = (beside(library, &server), theirs(library, &server));
    peer.tell("hold").await;
    peer.says("held").await;
    let seen = tenure.inspect(KEY).await.unwrap();
    assert!(seen.holders[0].left.unwrap() <= TTL);
    let listed = tenure.list("stock:").await.unwrap().names;
    assert_eq!(listed.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), [KEY]);
    assert_eq!(tenure.evict_seen(KEY, &seen).await.unwrap().len(), 1);
    peer.tell("release").await;
    peer.says("lost").await;
    if library.has_one_value() {
        // Then its next hold cannot be told from the one before.
        return;
    }
    // What another one holds by now stays.
    peer.tell("hold").await;
    peer.says("held").await;
    assert!(tenure.evict_seen(KEY, &seen).await.unwrap().is_empty());
    peer.tell("release").await;
    peer.says("released").await;
}

macro_rules! peers {
    ($($module:ident: $library:ident;)+) => {$(
        mod $module {
            use super::Library;

            #[tokio::test(flavor = "multi_thread")]
            async fn no_increment_is_lost() {
                super::no_increment_is_lost(Library::$library).await;
            }

            #[tokio::test]
            async fn each_waits_for_the_other() {
                super::each_waits_for_the_other(Library::$library).await;
            }

            #[tokio::test]
            async fn an_operator_takes_the_lock_of_the_hold_that_was_seen() {
                super::an_operator_takes_the_lock_of_the_hold_that_was_seen(Library::$library).await;
            }
        }
    )+};
}

peers! {
    redis_py: RedisPy;
    redsync: Redsync;
    bsm_redislock: BsmRedislock;
    node_redlock: NodeRedlock;
    spring_spin: SpringSpin;
    spring_pub_sub: SpringPubSub;
}

/// As every library's forced unlock does it.
#[tokio::test]
async fn a_lock_that_is_deleted_is_lost() {
    let server = RedisServer::start();
    let tenure = ours(&server);
    let guard = hold(&tenure, KEY, TTL).await;
    let token = guard.token();
    assert_eq!(server.command(&["SET", KEY, "theirs", "PX", "60000"]), Reply::Text("OK".into()));
    lost(&guard).await;
    drop(guard);
    until("the release is over", async || tenure.store().inspect(&name(KEY)).await.is_ok()).await;
    assert_eq!(server.command(&["GET", KEY]), Reply::Text("theirs".into()));
    server.command(&["DEL", KEY]);
    assert!(hold(&tenure, KEY, TTL).await.token() > token);
}

/// A hash at the key is Redisson's lock, a string without a ttl perhaps no lock at all.
#[tokio::test]
async fn what_is_no_plain_lock_is_neither_taken_nor_deleted() {
    let server = RedisServer::start();
    let tenure = ours(&server);
    server.command(&["HSET", KEY, "0fe07e3c-5bbd-4e24-8ee7-6a5d4c3b2a19:1", "1"]);
    let refused = tenure.mutex(KEY).try_lock().await.unwrap_err();
    assert!(refused.to_string().contains("no string"), "{refused:#}");
    assert!(tenure.store().evict(&name(KEY)).await.is_err());
    server.command(&["DEL", KEY]);
    server.command(&["SET", KEY, "not a lock"]);
    let wait = Duration::from_millis(100);
    assert!(tenure.mutex(KEY).lock().wait(wait).await.unwrap_err().is_busy());
    let refused = tenure.store().evict(&name(KEY)).await.unwrap_err();
    assert!(refused.to_string().contains("never expires"), "{refused:#}");
    assert_eq!(server.command(&["GET", KEY]), Reply::Text("not a lock".into()));
}

#[tokio::test]
async fn our_own_keys_are_no_locks() {
    let server = RedisServer::start();
    let tenure = ours(&server);
    hold(&tenure, KEY, TTL).await.release().await.unwrap();
    for key in server.keys() {
        let refused = tenure.mutex(&key).try_lock().await.unwrap_err();
        assert!(refused.to_string().contains("tenure's own keys"), "{key}: {refused:#}");
        assert!(tenure.store().evict(&name(&key)).await.is_err());
    }
    assert!(tenure.list("").await.unwrap().names.is_empty());
}

/// It would ask again on its own only at the end of a ttl.
#[tokio::test]
async fn a_release_wakes_a_waiter_that_hears_of_it_alone() {
    let server = RedisServer::start();
    let tenure = beside(Library::SpringPubSub, &server);
    let guard = hold(&tenure, KEY, PATIENCE).await;
    let ttl = Duration::from_secs(600);
    let mut peer = Peer::start(Library::SpringPubSub, server.address().port(), ttl, KEY);
    peer.tell("hold").await;
    until("it listens", async || server.command(&["PUBSUB", "NUMPAT"]) == Reply::Text("2".into()))
        .await;
    guard.release().await.unwrap();
    peer.says("held").await;
    // So is a waiter of ours woken by theirs: the pattern that it listens to is the other one.
    peer.tell("release").await;
    peer.says("released").await;
    hold(&tenure, KEY, PATIENCE).await.release().await.unwrap();
}

/// The first wake-up is ours: no waiter of tenure polls for what tenure releases.
#[tokio::test]
async fn a_release_is_announced_where_others_announce_theirs() {
    let server = RedisServer::start();
    let url = format!("{}?layout=plain&key_prefix=app:&unlock_channel=app:channel", server.url());
    let (one, other) = (tenure(&url), tenure(&url));
    let guard = hold(&one, "a", PATIENCE).await;
    let mutex = other.mutex("a");
    let waiting = tokio::spawn(async move { mutex.lock().wait(PATIENCE).await.unwrap() });
    until("it listens", async || {
        server.command(&["PUBSUB", "NUMSUB", "app:channel"])
            == Reply::List(vec![Reply::Text("app:channel".into()), Reply::Text("2".into())])
    })
    .await;
    guard.release().await.unwrap();
    assert!(waiting.await.unwrap().check().is_ok());
    assert_eq!(server.command(&["EXISTS", "app:a"]), Reply::Text("1".into()));
}
