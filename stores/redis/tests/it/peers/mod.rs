//! Locks that tenure shares with the real libraries whose layout they have, on a real server.

mod calls;
mod drill;
mod library;
mod ours;
mod program;
mod redisson;

use std::{fs, path::Path, time::Duration};

use tenure_servers::{RedisCluster, RedisServer, redis::Reply};

pub(crate) use self::drill::beside_peers;
use self::{library::Library, ours::Ours, program::Peer};
use crate::support::{PATIENCE, hold, scripts, times_out, until};

const KEY: &str = "stock:42";
/// Few of the libraries renew: what is asked of their holder is over long before this.
const TTL: Duration = Duration::from_secs(4);

/// How often each process takes the lock.
const TURNS: usize = 25;

fn theirs(library: Library, server: &RedisServer) -> Peer {
    Peer::start(library, server.address().port(), TTL, KEY)
}

/// Counts in a file that nothing else protects, and returns which number was found by which token.
async fn count(ours: Ours, key: &str, turns: usize, file: &Path) -> Vec<(usize, u64)> {
    let mut tokens = Vec::new();
    for _ in 0..turns {
        let held = ours.hold(key, TTL).await;
        let number: usize = fs::read_to_string(file).unwrap().parse().unwrap();
        fs::write(file, (number + 1).to_string()).unwrap();
        tokens.push((number, held.token().get()));
        held.release().await;
    }
    tokens
}

/// Two processes of theirs and two clients of ours count in one file.
async fn no_increment_is_lost(
    server: &RedisServer,
    peers: &mut [Peer; 2],
    library: Library,
    key: &str,
) {
    let file = server.folder().join("counter");
    fs::write(&file, "0").unwrap();
    for peer in &mut *peers {
        peer.tell(&format!("count {TURNS} {}", file.display())).await;
    }
    let [one, other] = [(); 2].map(|()| Ours::beside(library, server));
    let (one, other) = tokio::join!(count(one, key, TURNS, &file), count(other, key, TURNS, &file));
    let mut tokens = [one, other].concat();
    for peer in peers {
        let said = peer.says("done").await;
        let theirs = said.split_whitespace().map(|turn| {
            let (number, token) = turn.split_once(':').unwrap();
            (number.parse().unwrap(), token.parse().unwrap())
        });
        tokens.extend(theirs);
    }
    assert_eq!(fs::read_to_string(file).unwrap(), (4 * TURNS).to_string(), "{library:?}");
    assert_eq!(tokens.len(), if library.has_tokens() { 4 * TURNS } else { 2 * TURNS });
    // In the order of the holds.
    tokens.sort_unstable();
    assert!(tokens.is_sorted_by(|one, next| one.1 < next.1), "{library:?}: {tokens:?}");
}

/// The peer ends by `kill -9`.
async fn each_waits_for_the_other(
    server: &RedisServer,
    peer: &mut Peer,
    library: Library,
    key: &str,
) {
    let ours = Ours::beside(library, server);
    peer.asked("hold", "held").await;
    let busy = times_out(async || ours.wait(key, TTL, TTL / 4).await.err().unwrap()).await;
    assert!(busy.holder.unwrap().label.starts_with(library.label()));
    peer.asked("release", "released").await;
    let held = ours.hold(key, TTL).await;
    peer.tell("hold").await;
    // Longer than a ttl: it is renewed, and they see that.
    tokio::time::sleep(TTL + TTL / 4).await;
    held.check().unwrap();
    held.release().await;
    peer.says("held").await;
    // A killed one frees the lock at the end of its lease.
    peer.kill().await;
    ours.hold(key, TTL).await.release().await;
}

async fn an_operator_takes_the_lock_of_the_hold_that_was_seen(
    server: &RedisServer,
    peer: &mut Peer,
    library: Library,
    key: &str,
) {
    let tenure = Ours::beside(library, server).tenure;
    peer.asked("hold", "held").await;
    let seen = tenure.inspect(key).await.unwrap();
    assert!(seen.holders[0].left.unwrap() <= TTL);
    let listed = tenure.list(key).await.unwrap().names;
    assert_eq!(listed.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), [key]);
    assert_eq!(tenure.evict_seen(key, &seen).await.unwrap().len(), 1);
    peer.asked("release", "lost").await;
    if library.has_one_value() {
        // Then its next hold cannot be told from the one before.
        return;
    }
    // What another one holds by now stays.
    peer.asked("hold", "held").await;
    assert!(tenure.evict_seen(key, &seen).await.unwrap().is_empty());
    peer.asked("release", "released").await;
}

macro_rules! peers {
    ($($module:ident: $library:ident;)+) => {$(
        mod $module {
            use super::{KEY, Library, RedisServer, theirs};

            const LIBRARY: Library = Library::$library;

            #[tokio::test(flavor = "multi_thread")]
            async fn no_increment_is_lost() {
                let server = RedisServer::start();
                let mut peers = [(); 2].map(|()| theirs(LIBRARY, &server));
                super::no_increment_is_lost(&server, &mut peers, LIBRARY, KEY).await;
            }

            #[tokio::test]
            async fn each_waits_for_the_other() {
                let server = RedisServer::start();
                let mut peer = theirs(LIBRARY, &server);
                super::each_waits_for_the_other(&server, &mut peer, LIBRARY, KEY).await;
            }

            #[tokio::test]
            async fn an_operator_takes_the_lock_of_the_hold_that_was_seen() {
                let server = RedisServer::start();
                let mut peer = theirs(LIBRARY, &server);
                super::an_operator_takes_the_lock_of_the_hold_that_was_seen(
                    &server, &mut peer, LIBRARY, KEY,
                )
                .await;
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
    let tenure = Ours::beside(Library::SpringPubSub, &server).tenure;
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
    peer.asked("release", "released").await;
    hold(&tenure, KEY, PATIENCE).await.release().await.unwrap();
}

/// Nobody polls for what is announced.
#[tokio::test]
async fn a_waiter_of_ours_hears_of_their_release_and_does_not_poll() {
    let server = RedisServer::start();
    let mutex = Ours::beside(Library::SpringPubSub, &server).tenure.mutex(KEY);
    let ttl = Duration::from_secs(600);
    let mut peer = Peer::start(Library::SpringPubSub, server.address().port(), ttl, KEY);
    peer.asked("hold", "held").await;
    let waiting = tokio::spawn(async move { mutex.lock().wait(PATIENCE).await.unwrap() });
    let hears = ["PUBLISH", "stock-channel:", "no key"];
    until("it listens", async || server.command(&hears) != Reply::Text("0".into())).await;
    let uptime = || -> u64 {
        let Reply::Text(told) = server.command(&["INFO", "server"]) else { panic!() };
        let line = told.lines().find_map(|line| line.strip_prefix("uptime_in_seconds:"));
        line.unwrap().trim().parse().unwrap()
    };
    let (asked, since) = (scripts(&server), uptime());
    until("a while has passed", async || uptime() > since + 1).await;
    assert!(scripts(&server) - asked <= 2, "it polls");
    peer.asked("release", "released").await;
    waiting.await.unwrap().release().await.unwrap();
}

/// The other libraries of the plain layout do the same there, each by the client of its language.
#[tokio::test(flavor = "multi_thread")]
async fn in_a_cluster_redis_py_and_tenure_exclude_each_other() {
    let cluster = RedisCluster::start();
    let nodes: Vec<_> = cluster.running().collect();
    let port = nodes[0].address().port();
    let file = nodes[0].folder().join("counter");
    // On nodes of their own.
    for key in ["stock:42", "{stock}:a", "stock:{}:a"] {
        fs::write(&file, "0").unwrap();
        let mut peer = Peer::in_cluster(Library::RedisPy, port, TTL, key);
        peer.tell(&format!("count {TURNS} {}", file.display())).await;
        let ours = Ours::at(&format!("{}?layout=plain", cluster.url()), false);
        let tokens = count(ours, key, TURNS, &file).await;
        peer.says("done").await;
        assert_eq!(fs::read_to_string(&file).unwrap(), (2 * TURNS).to_string(), "{key}");
        assert!(tokens.is_sorted_by(|one, next| one.1 < next.1), "{key}: {tokens:?}");
    }
}
