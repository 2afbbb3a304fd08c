//! How soon a lock of `tenure hold` is free, and its loss is heard. Figures to be read, not judged here.

use std::{
    fs,
    process::Stdio,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use tenure_servers::{MariadbServer, PostgresServer, RedisServer, ZookeeperServer};

use crate::{
    holder::Holder,
    process::{Running, program},
    scene::{Scene, eventually},
};

const ROUNDS: usize = 20;

#[allow(clippy::print_stdout, reason = "it is made to print")]
fn show(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let [median, longest] =
        [times[times.len() / 2], times[times.len() - 1]].map(|it| it.as_secs_f64() * 1e3);
    println!("{what}: median {median:.1} ms, longest {longest:.1} ms of {}", times.len());
}

/// From `kill -9` of the program to the grant of one that waits, though a process that it started has its pipe.
fn after_kill(scene: &Scene) -> Duration {
    let out = scene.path("out");
    let _ = fs::remove_file(&out);
    let script = r#"[ -p in ] || mkfifo in; exec 3<>in; sleep 300 <&3 & echo $! >grandchild
        "$0" hold name --json --ttl 30s <&3 >out & wait"#;
    let mut parent = program("bash");
    parent.args(["-c", script, env!("CARGO_BIN_EXE_tenure")]).current_dir(scene.path(""));
    parent.env("TENURE_STORE", scene.store()).env_remove("TENURE_CONFIG").stdin(Stdio::null());
    let parent = Running::start(&mut parent);
    let has = |event: &str| fs::read_to_string(&out).unwrap_or_default().contains(event);
    eventually("it is acquired", || has("\"acquired\""));
    let mut next = Holder::start(scene, "name");
    next.hear("waiting");
    let killed = Instant::now();
    parent.signal(Signal::SIGKILL);
    next.hear("acquired");
    let took = killed.elapsed();
    crate::process::send(scene.pids("grandchild")[0], Signal::SIGKILL);
    next.say("release");
    assert_eq!(next.end(), 0);
    took
}

#[test]
#[ignore = "prints figures: scripts/drill languages"]
fn how_soon_a_lock_is_free_when_its_program_is_killed() {
    let redis = [(); 3].map(|()| RedisServer::start());
    let (postgres, mysql, zookeeper) =
        (PostgresServer::start(), MariadbServer::start(), ZookeeperServer::start());
    let quorum = format!("quorum:{}", redis.each_ref().map(RedisServer::url).join(","));
    let stores = [
        ("embedded", Scene::new()),
        ("redis", Scene::with_store(&redis[0].url())),
        ("postgres", Scene::with_store(&postgres.url())),
        ("mysql", Scene::with_store(&mysql.url())),
        ("zookeeper", Scene::with_store(&zookeeper.url())),
        ("quorum", Scene::with_store(&quorum)),
    ];
    for (store, scene) in stores {
        show(&format!("free on {store}"), (0..ROUNDS).map(|_| after_kill(&scene)).collect());
    }
}

/// From the deadline to the line. The server stands still, so nothing renews the lock.
#[test]
#[ignore = "prints figures: scripts/drill languages"]
fn how_soon_a_program_hears_of_a_loss() {
    let redis = RedisServer::start();
    let scene = Scene::with_store(&redis.url());
    let late = (0..ROUNDS).map(|_| {
        let mut holder = Holder::start(&scene, "name --ttl 1s");
        holder.hear("acquired");
        let frozen = redis.freeze();
        holder.say("check");
        let valid = holder.hear("checked")["valid_ms"].as_u64().unwrap();
        // It was computed a moment before, and cut to a millisecond.
        let deadline = Instant::now() + Duration::from_millis(valid);
        holder.hear("lost");
        let late = deadline.elapsed();
        drop(frozen);
        holder.end();
        late
    });
    show("loss heard after the deadline", late.collect());
}
