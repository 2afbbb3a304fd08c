//! tenure beside Redisson, in the layout of Redisson.
//!
//! A virtual machine takes long to start: one process is asked for many kinds, each on a name of its own.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use tenure_core::Tenure;
use tenure_servers::{RedisCluster, RedisServer, redis::Reply};

use super::{
    TTL, TURNS, an_operator_takes_the_lock_of_the_hold_that_was_seen, each_waits_for_the_other,
    library::{Kind, Library, Version},
    no_increment_is_lost,
    ours::Ours,
    program::Peer,
    theirs,
};
use crate::support::{PATIENCE, lost, scripts, until};

const VERSIONS: [Version; 2] = [Version::V3_52, Version::V4_7];

/// Only a message can wake who waits for the end of such a lease.
const LONG: Duration = Duration::from_secs(600);

/// How often a waiter of ours is woken: by its own looks this would take longer than patience lasts.
const WAKES: usize = 10;

fn of(version: Version, kind: Kind) -> Library {
    Library::Redisson(version, kind)
}

fn newest(kind: Kind) -> Library {
    of(Version::V4_7, kind)
}

/// Those that exclude each other as one holder does.
fn exclusive(version: Version) -> Vec<Library> {
    let mut kinds = vec![Kind::Lock, Kind::Fenced, Kind::Write, Kind::Spin];
    if version == Version::V4_7 {
        kinds.push(Kind::NonReentrant);
    }
    kinds.into_iter().map(|kind| of(version, kind)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_increment_of_theirs_or_ours_is_lost() {
    for version in VERSIONS {
        let server = RedisServer::start();
        let mut peers = [(); 2].map(|()| theirs(of(version, Kind::Lock), &server));
        for library in exclusive(version) {
            for peer in &mut peers {
                peer.uses(library, library.name()).await;
            }
            no_increment_is_lost(&server, &mut peers, library, library.name()).await;
        }
    }
}

#[tokio::test]
async fn each_kind_waits_for_the_other_side() {
    for version in VERSIONS {
        let server = RedisServer::start();
        for kind in [Kind::Lock, Kind::Write] {
            let library = of(version, kind);
            let mut peer = theirs(library, &server);
            peer.uses(library, library.name()).await;
            each_waits_for_the_other(&server, &mut peer, library, library.name()).await;
        }
    }
}

#[tokio::test]
async fn an_operator_takes_each_kind() {
    let server = RedisServer::start();
    let mut peer = theirs(newest(Kind::Lock), &server);
    for library in exclusive(Version::V4_7) {
        let key = library.name();
        peer.uses(library, key).await;
        an_operator_takes_the_lock_of_the_hold_that_was_seen(&server, &mut peer, library, key)
            .await;
    }
}

/// Each side tries and finds what the other one holds, and finds it free after that.
#[tokio::test]
async fn every_kind_excludes() {
    let server = RedisServer::start();
    let mut peer = theirs(newest(Kind::Lock), &server);
    for library in exclusive(Version::V4_7) {
        let (ours, key) = (Ours::beside(library, &server), library.name());
        peer.uses(library, key).await;
        peer.asked("try", "held").await;
        assert!(!ours.is_free(key).await, "{library:?}");
        peer.asked("release", "released").await;
        let held = ours.hold(key, PATIENCE).await;
        peer.asked("try", "busy").await;
        held.release().await;
        peer.asked("try", "held").await;
        peer.asked("release", "released").await;
    }
    // Two of their locks as one.
    let library = newest(Kind::Multi);
    let ours = Ours::beside(library, &server);
    peer.uses(library, "multi").await;
    let held = ours.hold("multi:too", PATIENCE).await;
    peer.asked("try", "busy").await;
    assert!(ours.is_free("multi").await, "it keeps one of two");
    held.release().await;
    peer.asked("hold", "held").await;
    assert!(!ours.is_free("multi").await);
    assert!(!ours.is_free("multi:too").await);
    peer.asked("release", "released").await;
    assert!(ours.is_free("multi:too").await);
}

/// Among themselves Redisson's kinds do not: its readers and writers take a name that its mutex has.
#[tokio::test]
async fn a_lock_of_ours_keeps_every_kind_out() {
    let server = RedisServer::start();
    let mut peer = theirs(newest(Kind::Lock), &server);
    for ours in [Kind::Lock, Kind::Fenced, Kind::Write] {
        let key = newest(ours).name();
        let held = Ours::beside(newest(ours), &server).hold(key, PATIENCE).await;
        for kind in [
            Kind::Lock,
            Kind::Spin,
            Kind::NonReentrant,
            Kind::Fenced,
            Kind::Fair,
            Kind::Read,
            Kind::Write,
            Kind::Multi,
        ] {
            peer.uses(newest(kind), key).await;
            peer.asked("try", "busy").await;
        }
        held.check().unwrap();
        held.release().await;
    }
}

/// Where the locks are: one server, or the nodes of a cluster.
type Nodes<'a> = [&'a RedisServer];

fn asked_of(nodes: &Nodes) -> u64 {
    nodes.iter().map(|server| scripts(server)).sum()
}

/// Whether somebody listens on the channel, of the lock's node alone or of all.
fn is_heard(nodes: &Nodes, channel: &str) -> bool {
    let nobody = Reply::List(vec![Reply::Text(channel.to_owned()), Reply::Text("0".into())]);
    ["NUMSUB", "SHARDNUMSUB"]
        .into_iter()
        .any(|ways| nodes.iter().any(|server| server.command(&["PUBSUB", ways, channel]) != nobody))
}

/// Theirs asks again on its own only at the end of our lease, and ours so rarely that this would take too long.
async fn each_wakes_the_other(nodes: &Nodes<'_>, peer: &mut Peer, library: Library, ours: Ours) {
    let key = library.name();
    let channel = if library.is_write() {
        format!("redisson_rwlock:{{{key}}}")
    } else {
        format!("redisson_lock__channel:{{{key}}}")
    };
    peer.uses(library, key).await;
    // Then the server knows its scripts.
    peer.asked("hold", "held").await;
    peer.asked("release", "released").await;
    let held = ours.hold(key, LONG).await;
    let before = asked_of(nodes);
    peer.tell("hold").await;
    // It tries once before it listens, and once after that.
    until("it waits", async || asked_of(nodes) >= before + 2 && is_heard(nodes, &channel)).await;
    held.release().await;
    peer.says("held").await;
    let wakes = async {
        for _ in 0..WAKES {
            let waiting = ours.clone();
            let before = asked_of(nodes);
            let waiting = tokio::spawn(async move { waiting.hold(key, LONG).await });
            until("ours waits", async || asked_of(nodes) > before && is_heard(nodes, &channel))
                .await;
            peer.asked("release", "released").await;
            waiting.await.unwrap().release().await;
            peer.asked("hold", "held").await;
        }
    };
    tokio::time::timeout(PATIENCE, wakes).await.unwrap();
    peer.asked("release", "released").await;
}

#[tokio::test]
async fn a_release_of_either_side_wakes_the_other() {
    let server = RedisServer::start();
    let mut peer = Peer::start(newest(Kind::Lock), server.address().port(), LONG, "unused");
    for kind in [Kind::Lock, Kind::Fenced, Kind::Write] {
        let ours = Ours::beside(newest(kind), &server);
        each_wakes_the_other(&[&server], &mut peer, newest(kind), ours).await;
    }
}

/// It asked after our grant, and listens on a channel of its own. On its own it would look when our lease ends.
#[tokio::test]
async fn a_release_of_ours_wakes_the_first_in_the_queue_of_a_fair_lock() {
    let server = RedisServer::start();
    let mut peer = Peer::start(newest(Kind::Fair), server.address().port(), LONG, "unused");
    let ours = Ours::beside(newest(Kind::Lock), &server);
    peer.uses(newest(Kind::Fair), "fair").await;
    let held = ours.hold("fair", LONG).await;
    peer.tell("hold").await;
    until("it waits in its queue", async || {
        match server.command(&["LINDEX", "redisson_lock_queue:{fair}", "0"]) {
            Reply::Text(first) => {
                is_heard(&[&server], &format!("redisson_lock__channel:{{fair}}:{first}"))
            }
            _ => false,
        }
    })
    .await;
    held.release().await;
    peer.says("held").await;
    peer.asked("release", "released").await;
    assert!(ours.is_free("fair").await);
}

/// Redisson listens and speaks at the node of a lock alone.
#[tokio::test]
async fn in_a_cluster_a_release_of_either_side_wakes_the_other() {
    let cluster = RedisCluster::start();
    let nodes: Vec<_> = cluster.running().collect();
    let port = nodes[0].address().port();
    for version in VERSIONS {
        let mut peer = Peer::in_cluster(of(version, Kind::Lock), port, LONG, "unused");
        for kind in [Kind::Lock, Kind::Fenced, Kind::Write] {
            let library = of(version, kind);
            let url = format!("{}?{}", cluster.url(), library.settings());
            let ours = Ours::at(&url, library.is_write());
            each_wakes_the_other(&nodes, &mut peer, library, ours).await;
        }
    }
}

/// Their forced unlock, which asks nobody.
#[tokio::test]
async fn a_forced_unlock_is_noticed_by_our_holder() {
    let server = RedisServer::start();
    let mut peer = theirs(newest(Kind::Lock), &server);
    for kind in [Kind::Lock, Kind::Fenced, Kind::Write] {
        let (library, key) = (newest(kind), newest(kind).name());
        peer.uses(library, key).await;
        let ours = Ours::beside(library, &server);
        let held = ours.hold(key, TTL).await;
        peer.asked("force", "forced").await;
        lost(&held).await;
        // And where it has another holder by then.
        let held = ours.hold(key, TTL).await;
        peer.asked("force", "forced").await;
        peer.asked("try", "held").await;
        lost(&held).await;
        drop(held);
        peer.asked("release", "released").await;
    }
}

async fn compare(tenure: Tenure, key: &str, file: &Path) {
    for _ in 0..TURNS {
        let guard = tenure.rwlock(key).read().ttl(TTL).wait(PATIENCE).await.unwrap();
        let before = fs::read_to_string(file).unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(fs::read_to_string(file).unwrap(), before);
        assert_ne!(before, "", "a writer has just emptied it");
        guard.release().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_see_nothing_half_written() {
    for version in VERSIONS {
        let server = RedisServer::start();
        let file = server.folder().join("counter");
        fs::write(&file, "0").unwrap();
        let key = "read-write";
        let [mut reader, mut writer] =
            [Kind::Read, Kind::Write].map(|kind| theirs(of(version, kind), &server));
        reader.uses(of(version, Kind::Read), key).await;
        writer.uses(of(version, Kind::Write), key).await;
        reader.tell(&format!("compare {TURNS} {}", file.display())).await;
        writer.tell(&format!("count {TURNS} {}", file.display())).await;
        let [read, write] =
            [Kind::Read, Kind::Write].map(|kind| Ours::beside(of(version, kind), &server));
        tokio::join!(compare(read.tenure, key, &file), super::count(write, key, TURNS, &file),);
        writer.says("done").await;
        reader.says("done").await;
        assert_eq!(fs::read_to_string(file).unwrap(), (2 * TURNS).to_string());
    }
}

/// Their last reader deletes the hash, unless it sees the time that each of our readers has left.
#[tokio::test]
async fn readers_of_both_sides_share() {
    let server = RedisServer::start();
    let (library, key) = (newest(Kind::Read), "read-write");
    let tenure = Ours::beside(library, &server).tenure;
    let mut peer = theirs(library, &server);
    peer.uses(library, key).await;
    let lock = tenure.rwlock(key);
    let ours = lock.read().ttl(TTL).await.unwrap();
    peer.asked("try", "held").await;
    assert!(lock.try_write().await.unwrap().is_none());
    peer.asked("release", "released").await;
    // Ours is still there, also for longer than its first lease.
    peer.uses(newest(Kind::Write), key).await;
    peer.asked("try", "busy").await;
    tokio::time::sleep(TTL + TTL / 4).await;
    peer.asked("try", "busy").await;
    ours.check().unwrap();
    // And theirs after ours has gone.
    peer.uses(library, key).await;
    peer.asked("try", "held").await;
    ours.release().await.unwrap();
    assert!(lock.try_write().await.unwrap().is_none());
    assert!(lock.try_read().await.unwrap().is_some());
    tokio::time::sleep(TTL + TTL / 4).await;
    assert!(lock.try_write().await.unwrap().is_none());
    peer.asked("release", "released").await;
    let write = lock.try_write().await.unwrap().unwrap();
    peer.asked("try", "busy").await;
    write.release().await.unwrap();
    peer.asked("try", "held").await;
}

/// We keep no place in it: a lock of ours would come before those who wait there.
#[tokio::test]
async fn a_lock_with_a_fair_queue_is_refused() {
    let server = RedisServer::start();
    let (library, key) = (newest(Kind::Fair), "queued");
    let tenure = Ours::beside(newest(Kind::Lock), &server).tenure;
    let [mut one, mut other] = [(); 2].map(|()| theirs(library, &server));
    for peer in [&mut one, &mut other] {
        peer.uses(library, key).await;
    }
    one.asked("hold", "held").await;
    assert!(tenure.mutex(key).try_lock().await.unwrap().is_none());
    other.tell("hold").await;
    let queue = format!("redisson_lock_queue:{{{key}}}");
    until("it waits", async || server.keys().contains(&queue)).await;
    let refused = tenure.mutex(key).try_lock().await.unwrap_err();
    assert!(format!("{refused:#}").contains("RFairLock"), "{refused:#}");
    // Its place outlives it.
    other.kill().await;
    one.asked("release", "released").await;
    let refused = tenure.mutex(key).lock().wait(PATIENCE).await.unwrap_err();
    assert!(format!("{refused:#}").contains("RFairLock"), "{refused:#}");
    assert!(server.keys().contains(&queue) && !server.keys().contains(&key.to_owned()));
}

/// Each side names the same keys, whatever a name has in it: else both would have the lock.
#[tokio::test]
async fn both_sides_call_a_name_the_same() {
    let names = ["a{b}c", "a b", "a:b/c", "\u{e9}\u{1f512}", "}a", "{}"];
    for prefix in [None, Some("app:"), Some("{app}:")] {
        let server = RedisServer::start();
        let library = newest(Kind::Fenced);
        let port = server.address().port();
        let mut peer = match prefix {
            None => Peer::start(library, port, TTL, "unused"),
            Some(prefix) => Peer::with_prefix(library, port, TTL, "unused", prefix),
        };
        let prefixed = prefix.map(|prefix| format!("&key_prefix={prefix}")).unwrap_or_default();
        let prefixed = prefixed.replace('{', "%7B").replace('}', "%7D");
        let url = format!("{}?{}{prefixed}", server.url(), library.settings());
        let ours = Ours::at(&url, library.is_write());
        for name in names {
            peer.uses(library, name).await;
            let first: u64 = peer.asked("hold", "held").await.parse().unwrap();
            assert!(!ours.is_free(name).await, "{name}");
            assert_eq!(ours.tenure.list("").await.unwrap().names[0].0.as_str(), name);
            peer.asked("release", "released").await;
            let held = ours.hold(name, TTL).await;
            assert_eq!(held.token().get(), first + 1, "{name}");
            peer.asked("try", "busy").await;
            held.release().await;
            let last: u64 = peer.asked("hold", "held").await.parse().unwrap();
            assert_eq!(last, first + 2, "{name}");
            peer.asked("release", "released").await;
        }
    }
}

/// Each side keeps its holds for ten leases, as the other one sees.
#[tokio::test]
#[ignore = "takes more than a minute: scripts/drill peers"]
async fn each_side_renews_for_ten_leases() {
    let server = RedisServer::start();
    for version in VERSIONS {
        let locks = [Kind::Lock, Kind::Fenced, Kind::Write].map(|kind| {
            let library = of(version, kind);
            (library, library.name(), Ours::beside(library, &server))
        });
        let mut peer = theirs(of(version, Kind::Lock), &server);
        let mut held = Vec::new();
        for (_, key, ours) in &locks {
            held.push(ours.hold(key, TTL).await);
        }
        for _ in 0..20 {
            tokio::time::sleep(TTL / 2).await;
            for ((library, key, _), held) in locks.iter().zip(&held) {
                held.check().unwrap();
                peer.uses(*library, key).await;
                peer.asked("try", "busy").await;
            }
        }
        for held in held {
            held.release().await;
        }
        for (library, key, _) in &locks {
            peer.uses(*library, key).await;
            peer.asked("hold", "held").await;
        }
        for _ in 0..20 {
            tokio::time::sleep(TTL / 2).await;
            for (_, key, ours) in &locks {
                assert!(!ours.is_free(key).await);
            }
        }
        for (library, key, _) in &locks {
            peer.uses(*library, key).await;
            peer.asked("release", "released").await;
        }
    }
}

/// How soon each side goes on after a release of the other, told and not judged.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a figure: scripts/drill peers"]
async fn how_soon_each_wakes_the_other() {
    const ROUNDS: usize = 200;
    let server = RedisServer::start();
    let mut peer = Peer::start(newest(Kind::Lock), server.address().port(), LONG, "unused");
    for kind in [Kind::Lock, Kind::Fenced, Kind::Write] {
        let library = newest(kind);
        let (ours, key) = (Ours::beside(library, &server), library.name());
        peer.uses(library, key).await;
        let (mut theirs, mut own) = (Vec::new(), Vec::new());
        let mut held = ours.hold(key, LONG).await;
        for _ in 0..ROUNDS {
            peer.tell("hold").await;
            tokio::time::sleep(Duration::from_millis(20)).await;
            let released = Instant::now();
            held.release().await;
            peer.says("held").await;
            theirs.push(released.elapsed());
            let waiting = ours.clone();
            let waiting = tokio::spawn(async move {
                let held = waiting.hold(key, LONG).await;
                (held, Instant::now())
            });
            tokio::time::sleep(Duration::from_millis(20)).await;
            let released = Instant::now();
            peer.tell("release").await;
            let (again, since) = waiting.await.unwrap();
            own.push(since - released);
            peer.says("released").await;
            held = again;
        }
        held.release().await;
        for (who, mut took) in [("theirs", theirs), ("ours", own)] {
            took.sort_unstable();
            let (half, most) = (took[ROUNDS / 2], took[ROUNDS * 95 / 100]);
            println!(
                "{}: {who} after a release of the other's: p50 {half:?}, p95 {most:?}",
                library.name()
            );
        }
    }
}
