//! The command on servers that replace each other: behind Sentinel, and in a cluster.

#![allow(clippy::print_stdout, reason = "a test tells what it did")]

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
};

use tenure_testkit::server::{RedisCluster, RedisServer, SentinelService};

use crate::{
    process::code,
    scene::{Scene, eventually, json, text},
};

const PASSWORD: &str = "s3ntinel-passw0rd";

/// Each reads, waits a little, and writes what it counted and its token, unless that is too old.
const WORK: &str = "read n < counter; sleep 0.02; exec 9> door; flock 9; last=$(tail -n 1 tokens); \
                    if [ ${last:-0} -ge $TENURE_TOKEN ]; then echo $TENURE_TOKEN >> refused; exit 0; fi; \
                    echo $((n + 1)) > counter; echo $TENURE_TOKEN >> tokens";

/// A holder and a waiter that outlive the fail-over, and processes that go on working through it on a
/// resource that refuses older tokens. Says how many rounds were not counted, as two had the lock at once.
fn rides_out(url: &str, fail_over: impl FnOnce()) -> i64 {
    const PROCESSES: usize = 8;
    let scene = Scene::with_store(url);
    let holder = scene.start(
        "kept --ttl 20s --label alpha",
        "echo > held; until [ -e go ]; do sleep 0.05; done; echo $TENURE_TOKEN > first",
    );
    scene.line("held");
    let waiter = scene.start("kept --label beta --wait 60s", "echo $TENURE_TOKEN > second");
    scene.until_waiting("kept", 1);
    fs::write(scene.path("counter"), "0\n").unwrap();
    fs::write(scene.path("tokens"), "").unwrap();
    let over = AtomicBool::new(false);
    let rounds = std::thread::scope(|threads| {
        let (over, scene) = (&over, &scene);
        let workers: Vec<_> = (0..PROCESSES)
            .map(|_| {
                threads.spawn(move || {
                    let mut rounds = 0_i64;
                    while !over.load(Ordering::Relaxed) {
                        let output = scene.run("counter --ttl 10s --wait 60s", WORK);
                        // Who is told that the new server lacks its lock has stopped.
                        assert!([0, 123].contains(&code(&output)), "{}", text(&output.stderr));
                        rounds += i64::from(code(&output) == 0);
                    }
                    rounds
                })
            })
            .collect();
        eventually("they work", || tokens(scene).len() >= PROCESSES);
        fail_over();
        let since = tokens(scene).len();
        eventually("they go on", || tokens(scene).len() >= since + 2 * PROCESSES);
        over.store(true, Ordering::Relaxed);
        workers.into_iter().map(|worker| worker.join().unwrap()).sum::<i64>()
    });
    let told = tokens(&scene);
    assert!(told.is_sorted_by(|one, next| one < next), "{told:?}");
    let lost = rounds - scene.line("counter").parse::<i64>().unwrap();

    let shown = scene.output(["show", "kept"]);
    let shown = text(&shown.stdout);
    // Without replicas that confirm, the new server may lack it: then its holder has been told.
    let kept = shown.contains("alpha") && shown.contains("beta");
    assert!(kept || !url.contains("replicas="), "{shown}");
    let listed = json(&scene.output(["ls", "--json"]).stdout);
    // A place that somebody gave up may have been lost with the old server's last moment.
    let names = listed["names"].as_array().unwrap();
    assert!(!kept || names.iter().any(|listed| listed["name"] == "kept"), "{listed}");
    let doctor = scene.output(["doctor"]);
    assert!(text(&doctor.stdout).contains("a full cycle of a lock works"), "{doctor:?}");
    fs::write(scene.path("go"), "").unwrap();
    let (holder, waiter) = (holder.wait(), waiter.wait());
    if !kept {
        println!("the new server lacked it: {}", text(&holder.stderr));
    }
    let ended = if kept { 0 } else { 123 };
    assert_eq!((code(&holder), code(&waiter)), (ended, 0));
    let token = |name: &str| scene.line(name).parse::<u64>().unwrap();
    assert!(!kept || token("first") < token("second"));

    let broken = scene.start("broken --ttl 2s", "echo > taken; exec sleep 1000");
    scene.line("taken");
    assert_eq!(code(&scene.output(["break", "broken", "--yes"])), 0);
    assert_eq!(code(&broken.wait()), 123);
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
fn commands_ride_out_a_fail_over_in_a_cluster() {
    let mut cluster = RedisCluster::start();
    let url = format!("{}?replicas=all&replica_timeout=500ms", cluster.url());
    let lost = rides_out(&url, || {
        let key = |name: &str| {
            let end = format!("lock:{name}");
            let mut keys = cluster.running().flat_map(RedisServer::keys);
            keys.find(|key| key.ends_with(&end)).unwrap()
        };
        let slot = cluster.slot(&key("kept"));
        let before = cluster.owner(slot).unwrap();
        cluster.servers[before].kill();
        cluster.another_than(before, slot);
    });
    assert_eq!(lost, 0, "two held the lock at once");
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
