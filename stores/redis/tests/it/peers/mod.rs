//! The plain layout beside the real libraries that it shares keys with, on a real server.

mod program;

use std::{fs, path::Path, time::Duration};

use tenure_core::{AcquireError, Tenure};
use tenure_servers::{RedisServer, redis::Reply};

use self::program::{Library, Peer};
use crate::support::{PATIENCE, hold, tenure, until};

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

/// It would ask again on its own only at the end of a ttl.
#[tokio::test]
async fn a_release_wakes_a_waiter_that_hears_of_it_alone() {
    let server = RedisServer::start();
    let tenure = beside(Library::SpringPubSub, &server);
    let guard = hold(&tenure, KEY, PATIENCE).await;
    let ttl = Duration::from_secs(600);
    let mut peer = Peer::start(Library::SpringPubSub, server.address().port(), ttl, KEY);
    peer.tell("hold").await;
    // It and ours.
    let hears = ["PUBLISH", "stock-channel:", "no key"];
    until("both listen", async || server.command(&hears) == Reply::Text("2".into())).await;
    guard.release().await.unwrap();
    peer.says("held").await;
    // And what they release is free for us.
    peer.tell("release").await;
    peer.says("released").await;
    hold(&tenure, KEY, PATIENCE).await.release().await.unwrap();
}
