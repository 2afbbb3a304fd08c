//! The same command on a real Redis server.

use std::{
    fs::{self, File},
    process::Stdio,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use nix::sys::signal::Signal;
use tenure_servers::{Certificates, RedisServer};

use crate::{
    process::{Running, code},
    scene::{Scene, events, eventually, json, text},
};

/// For how long a release is tried where nobody wants to leave.
const STAYS: Duration = Duration::from_secs(45);

fn scene() -> (RedisServer, Scene) {
    let server = RedisServer::start();
    let scene = Scene::with_store(&server.url());
    (server, scene)
}

/// Whether a key stays when all locks are gone: the clocks of tokens, the number of the format.
fn is_for_good(key: &String) -> bool {
    key.ends_with("}clock") || key == "tenure:format"
}

#[test]
fn commands_on_redis_exclude_each_other_and_their_tokens_rise() {
    const PROCESSES: usize = 8;
    const ROUNDS: usize = 8;
    let (server, scene) = scene();
    fs::write(scene.path("counter"), "0\n").unwrap();
    let script = "read n < counter; echo $((n + 1)) > counter; echo $TENURE_TOKEN >> tokens";
    std::thread::scope(|threads| {
        for _ in 0..PROCESSES {
            threads.spawn(|| {
                for _ in 0..ROUNDS {
                    let output = scene.run("counter", script);
                    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
                }
            });
        }
    });
    assert_eq!(scene.line("counter"), (PROCESSES * ROUNDS).to_string());
    let tokens: Vec<u64> =
        scene.line("tokens").lines().map(|token| token.parse().unwrap()).collect();
    assert_eq!(tokens.len(), PROCESSES * ROUNDS);
    assert!(tokens.is_sorted_by(|one, next| one < next), "{tokens:?}");
    let left: Vec<_> = server.keys().into_iter().filter(|key| !is_for_good(key)).collect();
    assert_eq!(left, [] as [&str; 0], "the commands leave no lock behind");
}

/// One whose command has ended while the server takes no writes, as in a failover, and that has said so.
fn not_released(server: &RedisServer, scene: &Scene, end: impl FnOnce(&Running)) -> Running {
    let script = "trap 'exit 7' TERM; echo > held; until [ -e go ]; do sleep 0.01; done; exit 7";
    let mut command = scene.run_command("lock --ttl 10m", script);
    command.stdout(Stdio::piped()).stderr(File::create(scene.path("said")).unwrap());
    let running = Running::start(&mut command);
    scene.line("held");
    server.command(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    end(&running);
    eventually("it says that it could not", || {
        let said = fs::read_to_string(scene.path("said")).unwrap_or_default();
        said.contains("lock may stay taken for a while")
    });
    running
}

fn is_held(server: &RedisServer) -> bool {
    server.keys().iter().any(|key| key.ends_with("lock:lock"))
}

#[test]
fn what_a_server_could_not_release_is_released_as_soon_as_it_can() {
    let (server, scene) = scene();
    let running = not_released(&server, &scene, |_| fs::write(scene.path("go"), "").unwrap());
    assert!(is_held(&server));
    server.command(&["CONFIG", "SET", "min-replicas-to-write", "0"]);
    assert_eq!(code(&running.wait()), 7);
    assert!(!is_held(&server));
}

#[test]
fn who_wants_to_leave_need_not_wait_for_a_release() {
    let (server, scene) = scene();
    let running = not_released(&server, &scene, |_| fs::write(scene.path("go"), "").unwrap());
    running.signal(Signal::SIGTERM);
    let ended = Instant::now();
    assert_eq!(code(&running.wait()), 7);
    assert!(ended.elapsed() < STAYS, "it stayed");
    assert!(is_held(&server));
}

#[test]
fn who_was_told_to_end_does_not_stay_for_a_release() {
    let (server, scene) = scene();
    let asked = Instant::now();
    let running = not_released(&server, &scene, |running| running.signal(Signal::SIGTERM));
    assert_eq!(code(&running.wait()), 7);
    assert!(asked.elapsed() < STAYS, "it stayed");
    assert!(is_held(&server));
}

#[test]
fn who_breaks_a_lock_that_no_replica_confirms_is_told_whom_it_was_taken_from() {
    let (server, scene) = scene();
    let running = scene.start("--ttl 60s lock", "echo $TENURE_TOKEN > token; sleep 60");
    eventually("it is held", || scene.path("token").exists() && !scene.line("token").is_empty());
    let admin = Scene::with_store(&format!("{}?replicas=1&replica_timeout=100ms", server.url()));
    let output = admin.output(["break", "lock", "--yes"]);
    let said = text(&output.stderr);
    assert_eq!(code(&output), 125, "{said}");
    let token = format!("with token {} lost it", scene.line("token"));
    assert!(said.contains("0 of 1 replicas") && said.contains(&token), "{said}");
    let asked = admin.output(["show", "lock", "--exit-code", "-q"]);
    assert_eq!((code(&asked), text(&asked.stdout)), (0, ""));
    assert_eq!(code(&running.wait()), 123);
}

#[test]
fn a_command_on_redis_learns_its_token_and_its_store_and_ends_with_its_own_code() {
    let (_server, scene) = scene();
    let script = "echo $TENURE_NAME $TENURE_STORE_KIND; test $TENURE_TOKEN -gt 0 && exit 7";
    let output = scene.run("name -v", script);
    assert_eq!((code(&output), text(&output.stdout)), (7, "name redis\n"));
    assert!(text(&output.stderr).contains("127.0.0.1"), "{}", text(&output.stderr));
    assert_eq!(code(&scene.run("name", "kill -9 $$")), 137);
}

#[test]
fn a_lock_that_is_busy_on_redis_gives_124_and_leaves_nothing_in_the_queue() {
    let (_server, scene) = scene();
    let _holder = scene.start("name --label somebody", "echo > held; exec sleep 1000");
    scene.line("held");
    let refused = scene.run("name --no-wait -v", "echo never");
    assert_eq!((code(&refused), text(&refused.stdout)), (124, ""));
    assert!(text(&refused.stderr).contains("held by \"somebody"), "{}", text(&refused.stderr));
    assert_eq!(code(&scene.run("name --no-wait --busy-exit-code 75", "")), 75);
    assert_eq!(code(&scene.run("name --wait 100ms", "echo never")), 124);
    assert_eq!(scene.show("name")["waiters"], serde_json::json!([]));
}

#[test]
fn a_waiter_on_redis_is_next_when_the_holder_ends() {
    let (_server, scene) = scene();
    let holder = scene.start("name", "echo > held; until [ -e go ]; do sleep 0.01; done");
    scene.line("held");
    let waiter = scene.start("name --fair --ttl 20s", "echo $TENURE_TOKEN");
    scene.until_waiting("name", 1);
    fs::write(scene.path("go"), "").unwrap();
    assert_eq!(code(&holder.wait()), 0);
    assert_eq!(code(&waiter.wait()), 0);
}

#[test]
fn ls_and_show_look_at_the_locks_on_redis() {
    let (_server, scene) = scene();
    assert_eq!(json(&scene.output(["ls", "--json"]).stdout)["names"], serde_json::json!([]));
    let free = scene.output(["show", "jobs:one"]);
    assert_eq!((code(&free), text(&free.stdout)), (0, "jobs:one is free\n"));
    let _one = scene.start("jobs:one --label alpha", "echo > one; exec sleep 1000");
    let _two = scene.start("other", "echo > two; exec sleep 1000");
    scene.line("one");
    scene.line("two");
    let _waiter = scene.start("jobs:one --label beta", "true");
    scene.until_waiting("jobs:one", 1);
    let all = scene.output(["ls"]);
    let all = text(&all.stdout);
    assert!(all.contains("jobs:one") && all.contains("alpha") && all.contains("other"), "{all}");
    let some = json(&scene.output(["ls", "jobs:", "--json"]).stdout);
    assert_eq!(some["names"].as_array().unwrap().len(), 1);
    assert_eq!(some["names"][0]["holders"][0]["label"], "alpha");
    let shown = scene.output(["show", "jobs:one"]);
    let shown = text(&shown.stdout);
    assert!(shown.contains("alpha") && shown.contains("waiter 1"), "{shown}");
    assert_eq!(scene.show("jobs:one")["waiters"][0]["label"], "beta");
}

#[test]
fn a_lock_broken_on_redis_ends_its_command_and_gives_123() {
    let (_server, scene) = scene();
    let holder = scene.start("name --ttl 1s --json", "echo $TENURE_TOKEN > held; exec sleep 1000");
    let token = scene.line("held");
    let refused = scene.output(["break", "name"]);
    assert_eq!(code(&refused), 2, "it wants to be told --yes");
    let broken = json(&scene.output(["break", "name", "--yes", "--json"]).stdout);
    assert_eq!(broken["evicted"][0]["token"], token.as_str());
    let output = holder.wait();
    assert_eq!(code(&output), 123);
    let said = events(&output.stderr);
    assert_eq!(said.iter().find(|event| event["event"] == "lost").unwrap()["reason"], "taken");
    let again = scene.output(["break", "name", "--yes"]);
    assert_eq!((code(&again), text(&again.stdout)), (0, "name was already free\n"));
}

#[test]
fn a_command_ends_before_its_lease_when_redis_dies() {
    let (mut server, scene) = scene();
    let script = "trap 'echo > told' TERM; echo > held; while :; do date +%s%N >> acts; done";
    let holder = scene.start("name --ttl 2s --json", script);
    scene.line("held");
    // No renewal is answered after this, so the lease ends within its ttl from here.
    let end = SystemTime::now() + Duration::from_secs(2);
    server.kill();
    let output = holder.wait();
    assert_eq!(code(&output), 123, "{}", text(&output.stderr));
    assert!(scene.path("told").exists(), "it is asked to end before it is made to");
    let acts = fs::read_to_string(scene.path("acts")).unwrap();
    let last = acts.lines().last().unwrap().parse().unwrap();
    assert!(UNIX_EPOCH + Duration::from_nanos(last) < end, "it acted when others could hold");
    // The shell speaks there, too.
    let lost =
        text(&output.stderr).lines().find(|line| line.contains(r#""event":"lost""#)).unwrap();
    assert!(lost.contains(r#""failure":"Redis at"#), "it does not say why: {lost:#}");
}

#[test]
fn a_redis_that_cannot_be_reached_gives_125_and_says_so() {
    let (mut server, scene) = scene();
    server.kill();
    for args in [
        &["run", "name", "--no-wait", "--", "echo", "never"][..],
        &["ls"],
        &["show", "name"],
        &["break", "name", "--yes"],
    ] {
        let output = scene.output(args.iter().copied());
        assert_eq!((code(&output), text(&output.stdout)), (125, ""), "{args:?}");
        let said = text(&output.stderr);
        assert!(said.contains("cannot be reached") && said.contains("127.0.0.1"), "{said}");
        assert_eq!(said.matches("Connection refused").count(), 1, "{said}");
        assert_eq!(said.matches("127.0.0.1").count(), 1, "the place is said once: {said}");
    }
}

#[test]
fn doctor_says_which_promise_does_not_hold_on_a_redis() {
    let (server, scene) = scene();
    let seen = scene.output(["doctor"]);
    assert_eq!(code(&seen), 0, "{}", text(&seen.stdout));
    assert!(text(&seen.stdout).contains("permissions"), "{}", text(&seen.stdout));
    server.command(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    let seen = scene.output(["doctor", "--json"]);
    assert_eq!(code(&seen), 1);
    let seen = json(&seen.stdout);
    assert_eq!(seen["kind"], "redis");
    let diagnostics = seen["diagnostics"].as_array().unwrap();
    let eviction = diagnostics.iter().find(|diagnostic| diagnostic["what"] == "eviction").unwrap();
    assert_eq!(eviction["promise"], "S1", "{eviction}");
    assert!(eviction["help"].as_str().unwrap().contains("noeviction"), "{eviction}");
    eventually("the trial lock is gone", || server.keys().iter().all(is_for_good));
}

#[test]
fn a_command_over_tls_trusts_the_authority_it_is_told_and_no_other() {
    let certificates = Certificates::new();
    let server = RedisServer::with_tls(&certificates, false);
    let url = server.tls_url().unwrap();
    let authority = certificates.file("ca.pem");
    let untold = Scene::with_store(&url);
    let output = untold.run("name", "echo never");
    assert_eq!((code(&output), text(&output.stdout)), (125, ""));
    assert!(text(&output.stderr).contains("not trusted"), "{}", text(&output.stderr));
    let output = untold.run_command("name", "echo ran").env("SSL_CERT_FILE", &authority).output();
    assert_eq!(text(&output.unwrap().stdout), "ran\n");
    let told = Scene::with_store(&format!("{url}?ca={}", authority.display()));
    assert_eq!(code(&told.run("name", "exit 7")), 7);
}

#[test]
fn a_pipe_that_is_named_as_the_authorities_is_not_waited_for() {
    let certificates = Certificates::new();
    let server = RedisServer::with_tls(&certificates, false);
    let scene = Scene::with_store(&server.tls_url().unwrap());
    let pipe = certificates.file("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let output = scene
        .run_command("name", "echo never")
        .env("SSL_CERT_FILE", &pipe)
        .env_remove("SSL_CERT_DIR")
        .output()
        .unwrap();
    assert_eq!((code(&output), text(&output.stdout)), (125, ""));
    assert!(text(&output.stderr).contains("it is not a regular file"), "{}", text(&output.stderr));
}
