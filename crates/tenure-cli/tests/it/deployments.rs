//! The command on servers that replace each other: behind Sentinel, and in a cluster.

#![allow(clippy::print_stdout, reason = "a test tells what it did")]

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use tenure::redis::name_in_slot_of;
use tenure_servers::{RedisCluster, RedisServer, SentinelService, redis::Reply};

use crate::{
    process::code,
    scene::{Over, Scene, eventually, json, text},
};

const PASSWORD: &str = "s3ntinel-passw0rd";
/// Each replica that could be promoted has what counts.
const CONFIRMED: &str = "?replicas=all&replica_timeout=500ms";

/// Each reads, waits a little, and writes what it counted and its token, unless that is too old.
const WORK: &str = "read n < counter; sleep 0.02; exec 9> door; flock 9; last=$(tail -n 1 tokens); \
                    if [ ${last:-0} -ge $TENURE_TOKEN ]; then echo $TENURE_TOKEN >> refused; exit 0; fi; \
                    echo $((n + 1)) > counter; echo $TENURE_TOKEN >> tokens";

/// A holder and a waiter that outlive the failover, and processes that go on working through it. Says how many
/// rounds were not counted, as two had the lock at once.
fn rides_out<T>(url: &str, fail_over: impl FnOnce() -> T) -> i64 {
    let scene = Scene::with_store(url);
    let holder = scene.start(
        "kept --ttl 20s --label alpha",
        "echo > held; until [ -e go ]; do sleep 0.05; done; echo $TENURE_TOKEN > first",
    );
    scene.line("held");
    let waiter = scene.start("kept --label beta --wait 60s", "echo $TENURE_TOKEN > second");
    scene.until_waiting("kept", 1);
    let lost = work_through(&scene, &beside_kept(), fail_over);

    // A waiter whose server was replaced asks again within its turn.
    eventually("holder and waiter are shown", || {
        let shown = scene.output(["show", "kept"]);
        let shown = text(&shown.stdout);
        shown.contains("alpha") && shown.contains("beta")
    });
    let listed = json(&scene.output(["ls", "--json"]).stdout);
    let names = listed["names"].as_array().unwrap();
    assert!(names.iter().any(|listed| listed["name"] == "kept"), "{listed}");
    let doctor = scene.output(["doctor"]);
    assert!(text(&doctor.stdout).contains("a full cycle of a lock works"), "{doctor:?}");
    fs::write(scene.path("go"), "").unwrap();
    let (holder, waiter) = (holder.wait(), waiter.wait());
    assert_eq!((code(&holder), code(&waiter)), (0, 0), "{}", text(&holder.stderr));
    let token = |name: &str| scene.line(name).parse::<u64>().unwrap();
    assert!(token("first") < token("second"));

    let broken = scene.start("broken --ttl 2s", "echo > taken; exec sleep 1000");
    scene.line("taken");
    assert_eq!(code(&scene.output(["break", "broken", "--yes"])), 0);
    assert_eq!(code(&broken.wait()), 123);
    lost
}

/// Processes that work on a resource that refuses older tokens, and go on through what happens to their servers. Says
/// how many rounds were not counted, as two had the lock at once. What `happens` gives is over with the next grant.
fn work_through<T>(scene: &Scene, lock: &str, happens: impl FnOnce() -> T) -> i64 {
    const PROCESSES: usize = 8;
    fs::write(scene.path("counter"), "0\n").unwrap();
    fs::write(scene.path("tokens"), "").unwrap();
    let over = AtomicBool::new(false);
    let rounds = std::thread::scope(|threads| {
        let (over, ends) = (&over, Over(&over));
        let workers: Vec<_> = (0..PROCESSES)
            .map(|_| {
                threads.spawn(move || {
                    let mut rounds = 0_i64;
                    while !over.load(Ordering::Relaxed) {
                        let output = scene.run(&format!("{lock} --ttl 10s --wait 60s"), WORK);
                        // Who is told that the new server lacks its lock has stopped.
                        assert!([0, 123].contains(&code(&output)), "{}", text(&output.stderr));
                        rounds += i64::from(code(&output) == 0);
                    }
                    rounds
                })
            })
            .collect();
        eventually("they work", || tokens(scene).len() >= PROCESSES);
        let stays = happens();
        let (since, happened) = (tokens(scene).len(), Instant::now());
        eventually("the next grant", || tokens(scene).len() > since);
        println!("the next grant came within {:?}", happened.elapsed());
        drop(stays);
        let since = tokens(scene).len();
        eventually("they go on", || tokens(scene).len() >= since + 2 * PROCESSES);
        drop(ends);
        workers.into_iter().map(|worker| worker.join().unwrap()).sum::<i64>()
    });
    let told = tokens(scene);
    assert!(told.is_sorted_by(|one, next| one < next), "{told:?}");
    // One that was told that it lost the lock may have counted before.
    let lost = (rounds - scene.line("counter").parse::<i64>().unwrap()).max(0);
    println!("{lost:#} of {rounds} rounds were not counted, as two had the lock at once");
    lost
}

fn tokens(scene: &Scene) -> Vec<u64> {
    let told = fs::read_to_string(scene.path("tokens")).unwrap_or_default();
    // The last line may be half written.
    told.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')?.parse().ok()).collect()
}

#[test]
fn commands_ride_out_a_fail_over_behind_sentinel() {
    let mut service = SentinelService::start();
    rides_out(&service.url(), || {
        let before = service.primary();
        service.servers[before.unwrap()].kill();
        service.another_than(before);
    });
}

#[test]
fn commands_ride_out_a_frozen_primary_behind_sentinel() {
    let service = SentinelService::start();
    rides_out(&service.url(), || {
        let before = service.primary();
        // It comes back when another one has granted.
        let frozen = service.servers[before.unwrap()].freeze();
        service.another_than(before);
        frozen
    });
}

#[test]
fn commands_ride_out_fail_overs_there_and_back_behind_sentinel_with_clocks_a_second_apart() {
    let service = SentinelService::with_replicas_behind(1);
    rides_out(&service.url(), || {
        let before = service.fail_over();
        assert_ne!(service.fail_over(), before);
    });
}

#[test]
fn commands_ride_out_a_fail_over_in_a_cluster() {
    let mut cluster = RedisCluster::start();
    let url = format!("{}{CONFIRMED}", cluster.url());
    let lost = rides_out(&url, || {
        let (slot, before) = at(&cluster);
        cluster.servers[before].kill();
        cluster.another_than(before, slot);
    });
    assert_eq!(lost, 0, "two held the lock at once");
}

#[test]
fn commands_ride_out_a_frozen_primary_in_a_cluster() {
    let cluster = RedisCluster::start();
    let url = format!("{}{CONFIRMED}", cluster.url());
    let lost = rides_out(&url, || {
        let (slot, before) = at(&cluster);
        // It comes back when another one has granted.
        let frozen = cluster.servers[before].freeze();
        cluster.another_than(before, slot);
        frozen
    });
    assert_eq!(lost, 0, "two held the lock at once");
}

/// The one that is asked to take over has all that was written.
#[test]
fn commands_ride_out_fail_overs_there_and_back_in_a_cluster_whose_clocks_are_a_second_apart() {
    let cluster = RedisCluster::with(&[], 1);
    let lost = rides_out(&cluster.url(), || {
        let (slot, before) = at(&cluster);
        cluster.fail_over(slot);
        cluster.settle();
        assert_eq!(cluster.fail_over(slot), before);
    });
    assert_eq!(lost, 0, "two held the lock at once");
}

#[test]
fn commands_ride_out_moves_of_a_slot() {
    let mut cluster = RedisCluster::start();
    let lost = rides_out(&cluster.url(), || {
        let (slot, before) = at(&cluster);
        let other = (before + 1) % 3;
        cluster.move_slot_in_vain(slot, other, "lock:kept");
        cluster.move_slot(slot, other);
        cluster.move_slot(slot, before);
        let new = cluster.add();
        cluster.move_slot(slot, new);
    });
    assert_eq!(lost, 0, "two held the lock at once");
}

#[test]
fn commands_ride_out_the_loss_of_another_shard() {
    let mut cluster = RedisCluster::with(&["--cluster-require-full-coverage", "no"], 0);
    let scene = Scene::with_store(&cluster.url());
    let holder = scene.start("kept", "echo > held; until [ -e go ]; do sleep 0.05; done");
    scene.line("held");
    let lost = work_through(&scene, &beside_kept(), || {
        let (_, here) = at(&cluster);
        let gone = (here + 1) % 3;
        // So that its replica does not take over.
        cluster.servers[gone + 3].kill();
        cluster.servers[gone].kill();
        eventually("it is known to be lost", || {
            let told = cluster.servers[here].command(&["CLUSTER", "INFO"]);
            matches!(told, Reply::Text(told) if !told.contains("cluster_slots_fail:0\r"))
        });
    });
    assert_eq!(lost, 0, "two held the lock at once");
    fs::write(scene.path("go"), "").unwrap();
    assert_eq!(code(&holder.wait()), 0);
}

/// In a cluster this lock shares the slot of `kept`, so what happens to the one happens to the other.
fn beside_kept() -> String {
    name_in_slot_of("kept", "counter").unwrap().to_string()
}

/// The slot of the locks, and who has it.
fn at(cluster: &RedisCluster) -> (u16, usize) {
    let mut keys = cluster.running().flat_map(RedisServer::keys);
    let slot = cluster.slot(&keys.find(|key| key.ends_with("lock:kept")).unwrap());
    (slot, cluster.owner(slot).unwrap())
}

#[test]
fn a_cluster_is_shown_without_its_password_and_measured() {
    let cluster = RedisCluster::start();
    for server in cluster.running() {
        server.command(&["CONFIG", "SET", "masterauth", PASSWORD]);
    }
    for server in cluster.running() {
        server.command(&["CONFIG", "SET", "requirepass", PASSWORD]);
    }
    let shown = cluster.url();
    let scene = Scene::with_store(&shown.replace("//", &format!("//:{PASSWORD}@")));
    let ran = scene.run("name -v", "true");
    assert_eq!(code(&ran), 0, "{}", text(&ran.stderr));
    assert!(text(&ran.stderr).contains(&format!("locks are kept in {shown}")));
    let doctor = scene.output(["doctor", "--json"]);
    let wrong = Scene::with_store(&shown.replace("//", &format!("//:{PASSWORD}-wrong@")));
    let refused = wrong.run("name", "true");
    assert_eq!(code(&refused), 125, "{}", text(&refused.stderr));
    for output in [&ran, &doctor, &refused] {
        assert!(!format!("{output:?}").contains(PASSWORD), "{output:?}");
    }
    let bench = scene.output(["bench", "--json", "--for", "200ms"]);
    assert_eq!(code(&bench), 0, "{}", text(&bench.stderr));
}
