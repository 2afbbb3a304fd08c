//! A cluster: failovers, slots on their way, and names in many slots.

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use tenure_core::{
    FaultKind, Guard, LostReason, Store, Tenure,
    proto::queue::{Answer, Ask},
    store::{Diagnostic, Severity},
};
use tenure_redis::RedisStore;
use tenure_servers::{RedisCluster, RedisServer, redis::Reply};

use crate::support::{
    PATIENCE, hold, lock_keys, lost, micros, name, renewed, store, tenure, tries, until, waiting,
};

/// So long that nothing is renewed before a test has ended, unless something happens.
const LONG: Duration = Duration::from_secs(180);

/// The key of a lock that somebody has.
fn key(cluster: &RedisCluster, lock: &str) -> String {
    let end = format!("lock:{lock}");
    let mut keys = cluster.running().flat_map(lock_keys).filter(|key| key.ends_with(&end));
    keys.next().unwrap()
}

fn has(server: &RedisServer, key: &str) -> bool {
    lock_keys(server).iter().any(|known| known == key)
}

/// When the key expires there, in milliseconds of the time of day.
fn expires(server: &RedisServer, key: &str) -> u64 {
    match server.command(&["PEXPIRETIME", key]) {
        Reply::Text(at) => at.parse().unwrap_or_default(),
        _ => 0,
    }
}

/// A held lock, its key, its slot and the number of the server that has it.
async fn held(cluster: &RedisCluster, tenure: &Tenure, lock: &str) -> (Guard, String, u16, usize) {
    let guard = hold(tenure, lock, LONG).await;
    let key = key(cluster, lock);
    let slot = cluster.slot(&key);
    until("a replica has it", async || {
        cluster.servers.iter().filter(|server| has(server, &key)).count() == 2
    })
    .await;
    (guard, key, slot, cluster.owner(slot).unwrap())
}

/// A lock on another node than the one from which hints come: what happens there is not heard of at once.
async fn far_from_hints(cluster: &RedisCluster, tenure: &Tenure) -> &'static str {
    drop(hold(tenure, "first", LONG).await);
    let hints = |server: &RedisServer| {
        let told = server.command(&["CLIENT", "LIST", "TYPE", "pubsub"]);
        matches!(told, Reply::Text(told) if !told.is_empty())
    };
    until("hints come", async || cluster.servers.iter().any(hints)).await;
    for lock in ["lock", "other", "kept"] {
        let guard = hold(tenure, lock, LONG).await;
        let owner = cluster.owner(cluster.slot(&key(cluster, lock))).unwrap();
        guard.release().await.unwrap();
        if !hints(&cluster.servers[owner]) {
            return lock;
        }
    }
    panic!("hints come from everywhere")
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_spread_and_each_is_one_lock() {
    let cluster = RedisCluster::start();
    let (one, other) = (tenure(&cluster.url()), tenure(&cluster.url()));
    let mut guards = Vec::new();
    for number in 0..32 {
        guards.push(hold(&one, &format!("lock-{number}"), LONG).await);
    }
    for server in cluster.servers.iter().take(3) {
        assert!(!lock_keys(server).is_empty(), "a primary has no lock");
    }
    let names = one.store().list("lock-", 100).await.unwrap().names;
    assert_eq!(names.len(), 32);
    for number in 0..32 {
        let lock = format!("lock-{number}");
        assert!(other.mutex(&lock).try_lock().await.unwrap().is_none());
    }
    let all: Vec<_> = (0..8).map(|number| format!("all-{number}")).collect();
    let together = one.all(&all).lock().await.unwrap();
    assert_eq!(together.tokens().count(), 8);
    assert!(other.mutex("all-3").try_lock().await.unwrap().is_none());
    together.release().await.unwrap();
    drop(guards);
    until("all are free", async || cluster.running().all(|server| lock_keys(server).is_empty()))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_primary_is_replaced_and_holds_and_waiters_go_on() {
    let mut cluster = RedisCluster::start();
    let (one, other) = (tenure(&cluster.url()), tenure(&cluster.url()));
    let lock = far_from_hints(&cluster, &one).await;
    let (held, key, slot, old) = held(&cluster, &one, lock).await;
    let token = held.token();
    let waits = tokio::spawn(async move { hold(&other, lock, LONG).await.token() });
    until("it waits", async || waiting(&one, lock).await == 1).await;
    let before = held.deadline();
    cluster.servers[old].kill();
    let now = cluster.another_than(old, slot);
    // Not only when its time comes, after a third of its ttl.
    until("it is renewed", async || held.deadline() > before).await;
    assert!(has(&cluster.servers[now], &key));
    held.check().unwrap();
    held.release().await.unwrap();
    assert!(tokio::time::timeout(PATIENCE, waits).await.unwrap().unwrap() > token);

    // And back.
    cluster.servers[old].restart();
    cluster.settle();
    let token = hold(&one, lock, LONG).await.token();
    assert_eq!(cluster.fail_over(slot), old);
    assert!(hold(&one, lock, LONG).await.token() > token);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_that_the_new_primary_lacks_is_lost_at_once_and_tokens_rise_though_its_clock_is_behind()
 {
    const BEHIND: u32 = 40;
    let mut cluster = RedisCluster::with(&[], BEHIND);
    let tenure = tenure(&cluster.url());
    // What replicas do not get any more the clocks of tokens are part of.
    cluster.cut_replicas();
    let held = hold(&tenure, "other", LONG).await;
    let slot = cluster.slot(&key(&cluster, "other"));
    let old = cluster.owner(slot).unwrap();
    cluster.servers[old].kill();
    let now = cluster.another_than(old, slot);
    let Reply::List(time) = cluster.servers[now].command(&["TIME"]) else { panic!("no time") };
    let Reply::Text(seconds) = &time[0] else { panic!("no time") };
    assert!(seconds.parse::<u64>().unwrap() + 30 < micros() / 1_000_000, "its clock is not behind");
    assert_eq!(lost(&held).await, LostReason::Taken);
    let token = held.token();
    drop(held);
    let next = hold(&tenure, "other", LONG).await;
    assert!(next.token() > token);
    // As it has just been taken, whatever its token's time.
    let seen = tenure.store().inspect(&name("other")).await.unwrap();
    let since = seen.holders[0].since.unwrap();
    assert!(since < micros() / 1_000_000 * 1_000_000 + 60_000_000, "{since}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_primary_is_left_and_not_used_when_it_comes_back() {
    let cluster = RedisCluster::start();
    let tenure = tenure(&cluster.url());
    let (held, key, slot, old) = held(&cluster, &tenure, "lock").await;
    let frozen = cluster.servers[old].freeze();
    let renewed = micros() / 1_000 + u64::try_from(LONG.as_millis()).unwrap();
    let now = cluster.another_than(old, slot);
    // What it learns when it has just come may have made it renew a moment before, elsewhere.
    let is_renewed = async || expires(&cluster.servers[now], &key) >= renewed;
    until("it is renewed there", is_renewed).await;
    drop(frozen);
    held.check().unwrap();
    held.release().await.unwrap();
    // A busy machine may have replaced that one, too, before its replica had heard of the release.
    let is_gone = async || !has(&cluster.servers[now], &key) || cluster.owner(slot) != Some(now);
    until("nobody has it", is_gone).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shard_that_is_lost_delays_no_other() {
    let mut cluster = RedisCluster::with(&["--cluster-require-full-coverage", "no"], 0);
    let tenure = tenure(&cluster.url());
    let mut guards = HashMap::new();
    for number in 0..24 {
        let lock = format!("lock-{number}");
        let guard = tenure.mutex(&lock).lock().ttl(Duration::from_secs(3)).await.unwrap();
        let owner = cluster.owner(cluster.slot(&key(&cluster, &lock))).unwrap();
        guards.insert(lock, (guard, owner));
    }
    let gone = 1;
    // So that its replica does not take over.
    let replica = cluster.servers.len() - 2;
    cluster.servers[replica].kill();
    cluster.servers[gone].kill();
    for (guard, owner) in guards.values() {
        if *owner == gone {
            // By its deadline.
            assert_eq!(lost(guard).await, LostReason::Deadline);
        }
    }
    for (lock, (guard, owner)) in &guards {
        assert_eq!(guard.check().is_err(), *owner == gone, "{lock}");
    }
    assert!(guards.values().any(|(_, owner)| *owner == gone));
    let here = guards.iter().find(|(_, (_, owner))| *owner != gone).unwrap().0.clone();
    guards.remove(&here);
    hold(&tenure, &here, LONG).await.release().await.unwrap();
    // Who comes now is no worse off, and is told what is missing.
    let new = crate::support::tenure(&cluster.url());
    hold(&new, &here, LONG).await.release().await.unwrap();
    let listed = new.store().list("", 100).await.unwrap();
    assert!(!listed.names.is_empty() && !listed.missing.is_empty(), "{listed:?}");
    let diagnostics = store(&cluster.url()).health().await.unwrap();
    let is_bad = |diagnostic: &Diagnostic| diagnostic.severity == Severity::Bad;
    assert!(diagnostics.iter().any(is_bad), "{diagnostics:?}");
}

/// Its connections stay open, and nothing is refused: who waits for it learns nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_shard_that_stands_still_delays_no_other() {
    let cluster = RedisCluster::with(&["--cluster-require-full-coverage", "no"], 0);
    let tenure = tenure(&cluster.url());
    let ttl = Duration::from_secs(3);
    let mut guards = Vec::new();
    for number in 0..24 {
        let lock = format!("lock-{number}");
        let guard = tenure.mutex(&lock).lock().ttl(ttl).await.unwrap();
        guards.push((guard, cluster.owner(cluster.slot(&key(&cluster, &lock))).unwrap()));
    }
    let gone = 1;
    // So that its replica does not take over.
    let _replica = cluster.servers[cluster.servers.len() - 2].freeze();
    let _primary = cluster.servers[gone].freeze();
    for (guard, _) in guards.iter().filter(|(_, owner)| *owner == gone) {
        assert_eq!(lost(guard).await, LostReason::Deadline);
    }
    // Others are renewed again and again meanwhile.
    tokio::time::sleep(ttl).await;
    for (guard, owner) in &guards {
        assert_eq!(guard.check().is_err(), *owner == gone, "{}", guard.name());
    }
}

/// What one runtime has begun to ask, and does not go on with, is in nobody's way.
#[tokio::test(flavor = "multi_thread")]
async fn a_runtime_that_stands_still_keeps_nobody_from_following_a_fail_over() {
    let mut cluster = RedisCluster::start();
    let url = cluster.url();
    let (held, holds) = tokio::sync::oneshot::channel();
    let (asks, asking) = std::sync::mpsc::channel::<()>();
    let (ends, end) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        let still = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let tenure = tenure(&url);
        let ttl = Duration::from_secs(15);
        let guard = still.block_on(async { tenure.mutex("lock").lock().ttl(ttl).await.unwrap() });
        assert!(held.send(guard).is_ok());
        asking.recv().unwrap();
        // It follows the cluster, and is stopped in the midst of a question.
        still.block_on(async { tokio::time::sleep(Duration::from_millis(1_400)).await });
        let _ = end.recv();
    });
    let guard = holds.await.unwrap();
    let slot = cluster.slot(&key(&cluster, "lock"));
    let before = cluster.owner(slot).unwrap();
    let frozen: Vec<_> = cluster.servers.iter().map(RedisServer::freeze).collect();
    asks.send(()).unwrap();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    drop(frozen);
    cluster.servers[before].kill();
    cluster.another_than(before, slot);
    renewed(&guard).await;
    ends.send(()).unwrap();
    thread.join().unwrap();
}

/// Who holds nothing and waits for nothing hears of no failover, and its connection stays open through two.
#[tokio::test(flavor = "multi_thread")]
async fn who_comes_back_after_fail_overs_gets_a_greater_token() {
    let cluster = RedisCluster::start();
    let (idle, busy) = (store(&cluster.url()), tenure(&cluster.url()));
    let held = hold(&busy, "lock", LONG).await;
    let (key, lock) = (key(&cluster, "lock"), name("lock"));
    let ask = Ask { ttl: LONG, ..tries(7) };
    let answer = idle.acquire(&lock, &ask).await.unwrap();
    assert!(matches!(answer, Answer::Busy { .. }), "{answer:?}");
    held.release().await.unwrap();
    let slot = cluster.slot(&key);
    cluster.fail_over(slot);
    let other = tenure(&cluster.url());
    let last = hold(&other, "lock", LONG).await;
    let token = last.token();
    last.release().await.unwrap();
    let back = cluster.fail_over(slot);
    // As if the last token had not come there.
    for key in cluster.servers[back].keys().iter().filter(|key| key.ends_with("}clock")) {
        cluster.servers[back].command(&["DEL", key]);
    }
    // What it was told counts for as long.
    tokio::time::sleep(Duration::from_millis(1_600)).await;
    let Answer::Granted { token: next, .. } = idle.acquire(&lock, &ask).await.unwrap() else {
        panic!("it is free")
    };
    assert!(next > token, "{next:?} after {token:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_moves_to_and_fro_under_held_and_wanted_names() {
    let cluster = RedisCluster::start();
    let (one, other) = (tenure(&cluster.url()), tenure(&cluster.url()));
    let ttl = Duration::from_secs(2);
    let held = hold(&one, "lock", ttl).await;
    let slot = cluster.slot(&key(&cluster, "lock"));
    let (from, mut token) = (cluster.owner(slot).unwrap(), held.token());
    let to = (from + 1) % 3;
    // A lone hold is renewed wherever its key is; what is asked for anew has to wait.
    cluster.open_slot(slot, to);
    cluster.move_keys(slot, to, "lock:lock");
    renewed(&held).await;
    held.check().unwrap();
    let busy = other.mutex("lock").lock().wait(Duration::from_millis(300)).await.unwrap_err();
    assert!(format!("{busy:#}").contains("moving the slot"), "{busy}");
    held.release().await.unwrap();
    let waits = tokio::spawn(async move { hold(&other, "lock", LONG).await });
    cluster.move_keys(slot, to, "");
    cluster.close_slot(slot, to);
    let held = tokio::time::timeout(PATIENCE, waits).await.unwrap().unwrap();
    assert!(held.token() > token);
    token = held.token();
    assert!(has(&cluster.servers[to], &key(&cluster, "lock")));
    // And back.
    cluster.open_slot(slot, from);
    cluster.move_keys(slot, from, "");
    held.check().unwrap();
    held.release().await.unwrap();
    cluster.close_slot(slot, from);
    assert!(hold(&one, "lock", LONG).await.token() > token);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_holds_of_an_open_slot_are_renewed_where_each_is() {
    let cluster = RedisCluster::start();
    let tenure = tenure(&cluster.url());
    let ttl = Duration::from_secs(2);
    // All of one tag.
    let locks = ["lock", "zebra-842", "zebra-932", "antelope-1261", "antelope-1406"];
    let mut guards = Vec::new();
    for lock in locks {
        guards.push(hold(&tenure, lock, ttl).await);
    }
    let slot = cluster.slot(&key(&cluster, "lock"));
    let from = cluster.owner(slot).unwrap();
    let to = (from + 1) % 3;
    cluster.open_slot(slot, to);
    cluster.move_keys(slot, to, "2");
    for _ in 0..2 {
        for guard in &guards {
            renewed(guard).await;
        }
    }
    cluster.move_keys(slot, to, "");
    cluster.close_slot(slot, to);
    for guard in &guards {
        renewed(guard).await;
    }
    for guard in guards {
        guard.release().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_comes_and_gets_a_slot_has_its_locks() {
    let mut cluster = RedisCluster::start();
    let tenure = tenure(&cluster.url());
    let held = hold(&tenure, "lock", LONG).await;
    let token = held.token();
    let slot = cluster.slot(&key(&cluster, "lock"));
    let new = cluster.add();
    cluster.open_slot(slot, new);
    cluster.move_keys(slot, new, "");
    cluster.close_slot(slot, new);
    held.check().unwrap();
    held.release().await.unwrap();
    let held = hold(&tenure, "lock", LONG).await;
    assert!(held.token() > token);
    assert!(has(&cluster.servers[new], &key(&cluster, "lock")));
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_names_open_slots_and_what_each_node_lacks() {
    let cluster = RedisCluster::start();
    let store = RedisStore::open(&cluster.url()).await.unwrap();
    let diagnostic = async |what: &str| {
        let diagnostics = store.health().await.unwrap();
        diagnostics.into_iter().find(|diagnostic| diagnostic.what == what).unwrap()
    };
    assert_eq!(diagnostic("slots").await.severity, Severity::Good);
    assert_eq!(diagnostic("primaries").await.severity, Severity::Good);
    assert_eq!(diagnostic("permissions").await.severity, Severity::Good);
    cluster.servers[1].command(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    let eviction = diagnostic("eviction").await;
    let at = cluster.servers[1].address().to_string();
    assert!(eviction.severity == Severity::Bad && eviction.found.contains(&at), "{eviction:?}");
    cluster.open_slot(77, (cluster.owner(77).unwrap() + 1) % 3);
    let slots = diagnostic("slots").await;
    assert!(slots.severity == Severity::Warning && slots.found.contains("77"), "{slots:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_tries_each_primary_and_sees_where_they_disagree() {
    let cluster = RedisCluster::start();
    let store = RedisStore::open(&cluster.url()).await.unwrap();
    let diagnostic = async |what: &str| {
        let diagnostics = store.health().await.unwrap();
        diagnostics.into_iter().find(|diagnostic| diagnostic.what == what).unwrap()
    };
    let tried = diagnostic("permissions").await;
    assert!(tried.found.contains("3 of 3 primaries"), "{tried:?}");
    let severity = async |what| diagnostic(what).await.severity;
    // Each has users of its own.
    for server in &cluster.servers[..3] {
        server.command(&["ACL", "SETUSER", "default", "-del"]);
        assert_eq!(severity("permissions").await, Severity::Bad);
        server.command(&["ACL", "SETUSER", "default", "+del"]);
    }
    assert_eq!(severity("permissions").await, Severity::Good);
    // What the servers do not tell is not looked at.
    cluster.servers[2].command(&["ACL", "SETUSER", "default", "-config|get"]);
    for what in ["coverage", "eviction", "persistence"] {
        assert_eq!(severity(what).await, Severity::Warning, "{what}");
    }
    assert_eq!(severity("slots").await, Severity::Good);
    let owner = &cluster.servers[cluster.owner(91).unwrap()];
    owner.command(&["CLUSTER", "DELSLOTS", "91"]);
    assert_ne!(severity("slots").await, Severity::Good);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_cluster_and_what_is_away_is_said() {
    let server = RedisServer::start();
    let url = server.url().replace("redis://", "redis-cluster://");
    let fault = RedisStore::open(&url).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    assert!(format!("{fault:#}").contains("not in cluster mode"), "{fault:#}");
    let url = url.replace(&server.address().port().to_string(), "1");
    let fault = RedisStore::open(&url).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unreachable, "{fault:#}");
    // The seeds that are down are passed over.
    let cluster = RedisCluster::start();
    let url = cluster.url().replace("redis-cluster://", "redis-cluster://127.0.0.1:1,");
    hold(&tenure(&url), "lock", LONG).await.release().await.unwrap();
    let fault = store(&cluster.url()).incarnation().await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unsupported, "{fault:#}");
}

/// The key that has the number of the format for a lock.
async fn format_of(cluster: &RedisCluster, lock: &str) -> String {
    let held = hold(&tenure(&cluster.url()), lock, LONG).await;
    let key = key(cluster, lock);
    held.release().await.unwrap();
    key.replace(&format!("lock:{lock}"), "format")
}

#[tokio::test(flavor = "multi_thread")]
async fn locks_of_another_format_are_refused_wherever_the_number_is() {
    let cluster = RedisCluster::start();
    for lock in ["other", "lock", "kept"] {
        let format = format_of(&cluster, lock).await;
        let owner = &cluster.servers[cluster.owner(cluster.slot(&format)).unwrap()];
        assert_eq!(owner.command(&["GET", &format]), Reply::Text("2".to_owned()));
        owner.command(&["SET", &format, "99"]);
        let tenure = tenure(&cluster.url());
        for _ in 0..2 {
            let refused = tenure.mutex(lock).try_lock().await.unwrap_err();
            assert!(format!("{refused:#}").contains("99"), "{refused:#}");
        }
        // Others are no part of it.
        hold(&tenure, "first", LONG).await.release().await.unwrap();
    }
    assert!(cluster.running().all(|server| lock_keys(server).is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_replica_of_its_node_lacks_is_not_acquired() {
    let cluster = RedisCluster::start();
    for replicas in ["1", "all"] {
        let url = format!("{}?replicas={replicas}&replica_timeout=200ms", cluster.url());
        let tenure = tenure(&url);
        let guard = hold(&tenure, "lock", LONG).await;
        let key = key(&cluster, "lock");
        let having: Vec<_> = cluster.servers.iter().filter(|server| has(server, &key)).collect();
        // It was not only sent there.
        let [_, replica] = having.as_slice() else { panic!("{} have it", having.len()) };
        guard.release().await.unwrap();
        let frozen = replica.freeze();
        let error = format!("{:#}", tenure.mutex("lock").try_lock().await.unwrap_err());
        assert!(error.contains("0 of 1 replicas have it"), "{error:#}");
        drop(frozen);
        hold(&tenure, "lock", LONG).await.release().await.unwrap();
    }
}

/// It follows whoever has taken over as soon as it is back, and could take over then.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_was_away_in_a_fail_over_has_to_confirm_too() {
    let mut cluster = RedisCluster::start();
    let url = format!("{}?replicas=all&replica_timeout=200ms", cluster.url());
    let before = tenure(&url);
    let (guard, _, slot, owner) = held(&cluster, &before, "lock").await;
    guard.release().await.unwrap();
    let away = cluster.add_replica(owner);
    hold(&before, "lock", LONG).await.release().await.unwrap();
    // The other one takes over.
    cluster.servers[away].kill();
    cluster.servers[owner].kill();
    cluster.another_than(owner, slot);
    for tenure in [before, tenure(&url)] {
        until("the new one is asked", async || {
            let error = format!("{:#}", tenure.mutex("lock").try_lock().await.unwrap_err());
            error.contains("0 of 1 replicas have it")
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_confirmed_goes_on_when_the_slot_of_the_mark_moves() {
    let cluster = RedisCluster::start();
    let tenure = tenure(&format!("{}?replicas=1&replica_timeout=500ms", cluster.url()));
    // A replica of a busy machine may confirm too late, and the first after a move may be told that
    // it is not known who has it.
    let goes_on = async || {
        until("it goes on", async || {
            let Ok(Some(guard)) = tenure.mutex("lock").try_lock().await else { return false };
            guard.release().await.is_ok()
        })
        .await;
    };
    goes_on().await;
    for _ in 0..3 {
        let keys = cluster.running().flat_map(RedisServer::keys);
        // A replica has the key too.
        let marks: BTreeSet<_> = keys.filter(|key| key.ends_with("}mark")).collect();
        assert!(!marks.is_empty());
        for mark in marks {
            let slot = cluster.slot(&mark);
            let to = (cluster.owner(slot).unwrap() + 1) % 3;
            cluster.open_slot(slot, to);
            cluster.move_keys(slot, to, "");
            cluster.close_slot(slot, to);
        }
        goes_on().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_part_in_the_move_of_a_slot_by_the_least_rights_goes_on() {
    let cluster = RedisCluster::start();
    let words: Vec<_> = crate::places::CLUSTER_ACL.split_whitespace().collect();
    for server in cluster.running() {
        assert_eq!(server.command(&words), Reply::Text("OK".to_owned()));
    }
    let url = cluster.url().replace("//", "//tenure:choose-a-password@");
    let tenure = tenure(&url);
    let held = hold(&tenure, "lock", Duration::from_secs(2)).await;
    let slot = cluster.slot(&key(&cluster, "lock"));
    let to = (cluster.owner(slot).unwrap() + 1) % 3;
    cluster.open_slot(slot, to);
    cluster.move_keys(slot, to, "");
    renewed(&held).await;
    held.release().await.unwrap();
    cluster.close_slot(slot, to);
    hold(&tenure, "lock", LONG).await.release().await.unwrap();
}

#[tokio::test]
async fn a_hold_on_its_way_to_a_node_without_slots_is_renewed_and_released_there() {
    let mut cluster = RedisCluster::start();
    let tenure = tenure(&cluster.url());
    let new = cluster.add();
    for _ in 0..2 {
        let held = hold(&tenure, "lock", Duration::from_secs(2)).await;
        let slot = cluster.slot(&key(&cluster, "lock"));
        let from = cluster.owner(slot).unwrap();
        cluster.open_slot(slot, new);
        cluster.move_keys(slot, new, "lock:lock");
        renewed(&held).await;
        renewed(&held).await;
        held.release().await.unwrap();
        // The move is given up: what is left goes on where it is.
        for server in [&cluster.servers[from], &cluster.servers[new]] {
            server.command(&["CLUSTER", "SETSLOT", &slot.to_string(), "STABLE"]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_out_of_memory_whose_replicas_confirm_still_renews_and_releases() {
    let cluster = RedisCluster::start();
    let tenure = tenure(&format!("{}?replicas=1&replica_timeout=500ms", cluster.url()));
    let held = hold(&tenure, "lock", Duration::from_secs(2)).await;
    for server in cluster.running() {
        server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    }
    let refused = tenure.mutex("other").try_lock().await.unwrap_err();
    assert!(format!("{refused:#}").contains("out of memory"), "{refused:#}");
    renewed(&held).await;
    renewed(&held).await;
    held.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_the_format_is_asked_for_while_its_slot_is_on_its_way() {
    let cluster = RedisCluster::start();
    let format = format_of(&cluster, "lock").await;
    let slot = cluster.slot(&format);
    let from = cluster.owner(slot).unwrap();
    cluster.servers[from].command(&["SET", &format, "99"]);
    let to = (from + 1) % 3;
    cluster.open_slot(slot, to);
    for moved in [false, true] {
        if moved {
            cluster.move_keys(slot, to, "format");
        }
        let refused = tenure(&cluster.url()).mutex("lock").try_lock().await.unwrap_err();
        assert!(format!("{refused:#}").contains("99"), "{refused:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_another_cluster_is_not_believed() {
    let cluster = RedisCluster::start();
    let other = RedisCluster::start();
    // Greater epochs than ours have.
    for _ in 0..2 {
        other.fail_over(0);
    }
    let url = format!("{},{}", cluster.url(), other.servers[0].address());
    let tenure = tenure(&url);
    let held = hold(&tenure, "lock", Duration::from_secs(2)).await;
    let ours = cluster.servers.iter().any(|server| !lock_keys(server).is_empty());
    let (ours, theirs) = if ours { (&cluster, &other) } else { (&other, &cluster) };
    for _ in 0..6 {
        renewed(&held).await;
    }
    assert!(ours.servers.iter().any(|server| !lock_keys(server).is_empty()));
    assert!(theirs.servers.iter().all(|server| lock_keys(server).is_empty()));
}

#[tokio::test]
async fn a_database_at_a_node_of_a_cluster_is_said_to_be_that() {
    let cluster = RedisCluster::start();
    let url = cluster.servers[0].url().replace("/0", "/1");
    let fault = RedisStore::open(&url).await.unwrap_err();
    let said = format!("{fault:#}");
    assert_eq!(fault.kind(), FaultKind::Misconfigured);
    assert!(said.contains("only database 0") && said.contains("redis-cluster://"), "{said}");
}
