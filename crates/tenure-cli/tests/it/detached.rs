//! Locks that stay held between commands.

use std::{
    fs::{self, OpenOptions},
    io::{Read, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    process::{Command, Output, Stdio},
};

use nix::{
    fcntl::{FcntlArg, fcntl},
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tenure_servers::RedisServer;

use crate::{
    process::{Running, code, send},
    scene::{Scene, events, eventually, json, text},
};

/// Looks at it on every kind of store; a quorum has no lease that is longer than a minute.
fn on_each_store(check: impl Fn(&Scene)) {
    check(&Scene::new());
    on_redis(|_, scene| check(scene));
    let dirs = tempfile::tempdir().unwrap();
    let member = |at: u32| format!("file:{}/{at}", dirs.path().display());
    check(&Scene::with_store(&format!("quorum:{},{},{}", member(1), member(2), member(3))));
}

fn on_redis(check: impl Fn(&RedisServer, &Scene)) {
    let server = RedisServer::start();
    let scene = Scene::with_store(&server.url());
    check(&server, &scene);
}

/// `tenure ARGS` with this handle in the variable.
fn with_handle(scene: &Scene, handle: &str, args: &str) -> Command {
    let mut command = scene.tenure(args.split(' '));
    command.env("TENURE_HANDLE", handle);
    command
}

/// Locks `name`, and gives the handle.
pub(crate) fn lock(scene: &Scene, options: &str) -> String {
    let output = scene.output(["lock", "name"].into_iter().chain(options.split(' ')));
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    if !options.contains("--json") {
        assert_eq!(text(&output.stderr), "");
    }
    text(&output.stdout).trim_end().to_owned()
}

/// Writes what a handle may be in.
pub(crate) fn write(scene: &Scene, file: &str, content: &str) {
    let mut open = OpenOptions::new();
    let mut file = open.write(true).create(true).truncate(true).mode(0o600).open(scene.path(file));
    file.as_mut().unwrap().write_all(content.as_bytes()).unwrap();
}

fn read(scene: &Scene, file: &str) -> String {
    fs::read_to_string(scene.path(file)).unwrap()
}

/// How long the only hold of `name` lasts; nothing if there is none.
fn left(scene: &Scene) -> Option<u64> {
    scene.show("name")["holders"].as_array().unwrap().first()?["left_ms"].as_u64()
}

#[track_caller]
fn ended(output: &Output, expected: i32) {
    assert_eq!(code(output), expected, "{}", text(&output.stderr));
}

fn is_lost(output: &Output) {
    ended(output, 123);
    assert_eq!(text(&output.stdout), "");
    let said = text(&output.stderr);
    assert!(said.contains("\"name\"") && said.contains("nothing is held by this handle"), "{said}");
}

#[test]
fn a_pipeline_keeps_the_lock_from_its_first_step_to_its_last() {
    on_each_store(|scene| {
        let locked = json(lock(scene, "--for 50s --handle h --json").as_bytes());
        let mut tokens = vec![locked["token"].as_str().unwrap().parse::<u64>().unwrap()];
        assert_eq!(fs::metadata(scene.path("h")).unwrap().permissions().mode() & 0o777, 0o600);
        let mut contender = scene.run_command("name --json", "echo $TENURE_TOKEN > outsider");
        contender.stderr(fs::File::create(scene.path("said")).unwrap());
        let contender = Running::start(&mut contender);
        eventually("it waits", || read(scene, "said").contains(r#""event":"waiting""#));
        for (options, own) in
            [("--attach --handle h", 0), ("name --attach --handle h --for 40s", 7)]
        {
            let before = read(scene, "h");
            let script = format!(
                "echo $TENURE_TOKEN; test $TENURE_NAME = name && test ! -e outsider && exit {own}"
            );
            let step = scene.run(options, &script);
            ended(&step, own);
            tokens.push(text(&step.stdout).trim().parse().unwrap());
            assert_ne!(read(scene, "h"), before, "the handle of the last step is worth nothing");
        }
        let lasts = left(scene).unwrap();
        assert!((20_000..=41_000).contains(&lasts), "{lasts} ms");
        assert!(!scene.path("outsider").exists());
        ended(&scene.output(["unlock", "--handle", "h"]), 0);
        assert!(!scene.path("h").exists());
        assert_eq!(code(&contender.wait()), 0, "{}", read(scene, "said"));
        tokens.push(scene.line("outsider").parse().unwrap());
        assert!(tokens.is_sorted_by(|one, next| one < next), "{tokens:?}");
    });
}

#[test]
fn a_handle_in_a_variable_is_used_up_by_its_command() {
    on_each_store(|scene| {
        let handle = lock(scene, "--for 50s");
        assert!(handle.starts_with("tenure-handle:"));
        let step = with_handle(scene, &handle, "run --attach -- sh -c env").output().unwrap();
        ended(&step, 0);
        assert!(text(&step.stdout).contains("\nTENURE_TOKEN="), "{}", text(&step.stdout));
        assert!(!text(&step.stdout).contains("TENURE_HANDLE"), "{}", text(&step.stdout));
        ended(&scene.run("name --no-wait", "true"), 0);
        is_lost(&with_handle(scene, &handle, "run --attach -- echo never").output().unwrap());
        // Without --attach it is nothing to `run`, and may be meant for what runs under it.
        let other = with_handle(scene, &handle, "run name -- printenv TENURE_HANDLE");
        assert_eq!(text(&{ other }.output().unwrap().stdout).trim(), handle);
    });
}

#[test]
fn a_step_that_is_killed_is_lost_to_the_next_and_the_lock_gets_free() {
    on_each_store(|scene| {
        lock(scene, "--for 50s --handle h");
        let before = read(scene, "h");
        let step = scene.start("--attach --handle h --ttl 2s", "echo $$ > pid; exec sleep 1000");
        let command = scene.pids("pid")[0];
        let guardian = step.guardian();
        step.signal(Signal::SIGSTOP);
        send(guardian, Signal::SIGKILL);
        step.signal(Signal::SIGKILL);
        ended(&step.wait(), 1009);
        is_lost(&scene.run("--attach --handle h", "echo never"));
        is_lost(&scene.output(["renew", "--handle", "h"]));
        assert_eq!(read(scene, "h"), before);
        eventually("the lock is free", || code(&scene.run("name --no-wait", "true")) == 0);
        assert!(!crate::process::lives(command), "it ran beside another holder");
    });
}

#[test]
fn of_two_that_attach_one_handle_one_runs_its_command() {
    on_each_store(|scene| {
        let handle = lock(scene, "--for 50s");
        let both = [(); 2].map(|()| {
            let script = "echo >> ran; until [ -e go ]; do sleep 0.01; done";
            let mut command = scene.command("run", "--attach", script);
            command.env("TENURE_HANDLE", &handle).stdout(Stdio::piped()).stderr(Stdio::piped());
            Running::start(&mut command)
        });
        scene.line("ran");
        fs::write(scene.path("go"), "").unwrap();
        let mut codes = both.map(|one| code(&one.wait()));
        codes.sort_unstable();
        assert_eq!(codes, [0, 123]);
        assert_eq!(read(scene, "ran"), "\n");
    });
}

#[test]
fn nothing_is_done_by_the_handle_of_a_lease_that_is_over() {
    on_each_store(|scene| {
        lock(scene, "--for 1s --handle h");
        eventually("the lease is over", || left(scene).is_none());
        for args in ["run --attach --handle h -- echo never", "renew --handle h"] {
            is_lost(&scene.output(args.split(' ')));
        }
        let said = scene.output(["unlock", "--handle", "h", "--json"]);
        ended(&said, 123);
        let said = events(&said.stderr);
        assert_eq!(
            (&said[0]["event"], &said[0]["kind"], &said[0]["exit_code"]),
            (&"handle_lost".into(), &"not_held".into(), &123.into())
        );
        let gone = scene.output(["unlock", "--handle", "nowhere", "--json"]);
        ended(&gone, 2);
        assert_eq!(events(&gone.stderr)[0]["kind"], "no_handle");
    });
}

#[test]
fn a_lock_that_was_broken_cannot_be_unlocked_and_its_file_stays() {
    on_each_store(|scene| {
        lock(scene, "--for 50s --handle h");
        let before = read(scene, "h");
        ended(&scene.output(["break", "name", "--yes"]), 0);
        let unlocked = scene.output(["unlock", "--handle", "h"]);
        is_lost(&unlocked);
        assert!(text(&unlocked.stderr).contains("h was not changed"));
        assert_eq!(read(scene, "h"), before);
        // Whoever holds the lock alone knows that this handle is worth nothing.
        lock(scene, "--for 50s --handle h");
        assert_ne!(read(scene, "h"), before);
    });
}

#[test]
fn a_step_whose_lock_is_broken_leaves_nothing_held() {
    on_each_store(|scene| {
        lock(scene, "--for 50s --handle h");
        let before = read(scene, "h");
        let step = scene.start("--attach --handle h --ttl 1s", "echo > held; exec sleep 1000");
        scene.line("held");
        ended(&scene.output(["break", "name", "--yes"]), 0);
        ended(&step.wait(), 123);
        assert_eq!(left(scene), None);
        assert_eq!(read(scene, "h"), before);
        assert_eq!(hidden(scene), [] as [String; 0]);
    });
}

/// The files that were on their way to be the handle's.
fn hidden(scene: &Scene) -> Vec<String> {
    let entries = fs::read_dir(scene.path("")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with('.')).collect()
}

#[test]
fn whoever_renews_a_lock_has_it_for_longer() {
    on_each_store(|scene| {
        lock(scene, "--for 50s --handle h");
        let before = left(scene).unwrap();
        eventually("time passes", || left(scene).unwrap() + 20 < before);
        let low = left(scene).unwrap();
        // As long as it was detached for, if nothing else is said.
        eventually("it lasts longer than it did", || {
            ended(&scene.output(["renew", "--handle", "h"]), 0);
            left(scene).unwrap() > low
        });
        let longer = scene.output("renew --handle h --for 59s --json".split(' '));
        let longer = json(&longer.stdout);
        assert_eq!(longer["lock"], "name");
        assert!(longer["left_ms"].as_u64().unwrap() > before, "{longer}");
        assert!(left(scene).unwrap() > before);
        let shorter = scene.output("renew --handle h --for 1s".split(' '));
        assert!(text(&shorter.stdout).starts_with("name stays held for "));
        assert!(left(scene).unwrap() > 10_000, "it was shortened");
    });
}

#[test]
fn a_handle_comes_from_standard_input_where_nothing_else_is_said() {
    let scene = Scene::new();
    let handle = lock(&scene, "--for 10m");
    for args in [&["renew", "--json"][..], &["unlock", "--handle", "-", "--json"]] {
        write(&scene, "piped", &handle);
        let piped = fs::File::open(scene.path("piped")).unwrap();
        let output = scene.tenure(args.iter().copied()).stdin(piped).output().unwrap();
        ended(&output, 0);
        assert_eq!(json(&output.stdout)["lock"], "name");
    }
    assert_eq!(left(&scene), None);
    assert!(scene.path("piped").exists());
}

#[test]
fn lock_answers_in_json() {
    let scene = Scene::new();
    let answer = scene.output("lock name --for 10m --json".split(' '));
    let said = events(&answer.stderr);
    let answer = json(&answer.stdout);
    let token: u64 = answer["token"].as_str().unwrap().parse().unwrap();
    assert_eq!(scene.show("name")["holders"][0]["token"], token.to_string());
    assert_eq!((&answer["lock"], &answer["lease_ms"]), (&"name".into(), &600_000.into()));
    assert!(answer["left_ms"].as_u64().unwrap() <= 600_000);
    assert_eq!(said.last().unwrap()["event"], "detached");
    let handle = answer["handle"].as_str().unwrap();
    ended(&with_handle(&scene, handle, "unlock").output().unwrap(), 0);
    let in_file = json(&scene.output("lock name --for 10m --json --handle h".split(' ')).stdout);
    assert_eq!(in_file.get("handle"), None);
    let step = scene.run("--attach --handle h --json", "true");
    let said = events(&step.stderr);
    let what: Vec<_> = said.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(what, ["store", "acquired", "ended", "detached"]);
    assert!(said[3]["token"].as_str() > said[1]["token"].as_str());
}

#[test]
fn a_busy_lock_is_not_taken_and_no_file_is_left() {
    let scene = Scene::new();
    let handle = lock(&scene, "--for 10m --label somebody");
    for (options, expected) in
        [("--no-wait", 124), ("--wait 50ms", 124), ("--no-wait --busy-exit-code 75", 75)]
    {
        let args = format!("lock name --for 1m --handle h {options}");
        let refused = scene.output(args.split(' '));
        ended(&refused, expected);
    }
    let shown = scene.show("name");
    assert_eq!(shown["holders"][0]["label"], "somebody (detached)");
    assert!(!scene.path("h").exists());
    assert_eq!(hidden(&scene), [] as [String; 0]);
    ended(&with_handle(&scene, &handle, "unlock").output().unwrap(), 0);
}

#[test]
fn readers_and_permits_stay_held_too() {
    let scene = Scene::new();
    let reader = lock(&scene, "--for 10m --shared");
    ended(&scene.run("name --shared --no-wait", "true"), 0);
    ended(&scene.run("name --no-wait", "true"), 124);
    ended(&with_handle(&scene, &reader, "unlock").output().unwrap(), 0);
    let permits = lock(&scene, "--for 10m --permits 3 --take 2");
    ended(&scene.run("name --permits 3 --take 2 --no-wait", "true"), 124);
    ended(&with_handle(&scene, &permits, "run --attach -- true").output().unwrap(), 0);
    ended(&scene.run("name --permits 3 --take 2 --no-wait", "true"), 0);
}

#[test]
fn a_signal_ends_whoever_waits_to_lock() {
    let scene = Scene::new();
    let _holder = scene.start("name", "echo > held; exec sleep 1000");
    scene.line("held");
    let mut command = scene.tenure("lock name --for 10m --handle h".split(' '));
    let waiter = Running::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    scene.until_waiting("name", 1);
    waiter.signal(Signal::SIGINT);
    ended(&waiter.wait(), 130);
    assert_eq!(scene.show("name")["waiters"], serde_json::json!([]));
    assert!(!scene.path("h").exists());
}

#[test]
fn a_signal_ends_whoever_attaches() {
    on_redis(|server, scene| {
        let handle = lock(scene, "--for 10m");
        // It wants to tell which store it has opened, and nobody reads.
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        let room = fcntl(&writer, FcntlArg::F_SETPIPE_SZ(4096)).unwrap();
        writer.write_all(&vec![b'\n'; usize::try_from(room).unwrap()]).unwrap();
        let mut command = with_handle(scene, &handle, "run --attach --ttl 2s --json -- echo never");
        let step = Running::start(command.stdout(Stdio::piped()).stderr(writer));
        drop(command);
        eventually("it is stuck between the store and the lock", || {
            let place = fs::read_to_string(format!("/proc/{}/wchan", step.pid()));
            place.unwrap_or_default().contains("pipe_write")
        });
        let pid = i32::try_from(server.pid().unwrap()).unwrap();
        send(pid, Signal::SIGSTOP);
        let mut told = vec![0; 4096 + 1];
        reader.read_exact(&mut told).unwrap();
        step.signal(Signal::SIGTERM);
        let output = step.wait();
        send(pid, Signal::SIGCONT);
        ended(&output, 143);
        assert_eq!(text(&output.stdout), "");
        // The request may have been on its way. What came of it was taken back, or ends.
        eventually("nothing is attached", || {
            let holders = &scene.show("name")["holders"];
            holders[0]["label"].as_str().is_none_or(|label| label.contains("(detached)"))
        });
    });
}

#[test]
fn the_handle_is_in_its_file_before_the_store_is_asked() {
    on_redis(|server, scene| {
        lock(scene, "--for 10m --handle h");
        let before = read(scene, "h");
        let pid = i32::try_from(server.pid().unwrap()).unwrap();
        let script = format!("kill -STOP {pid}");
        // Longer than is waited here: what is written when the store was given up comes too late.
        let step = scene.start("--attach --handle h --ttl 1h", &script);
        eventually("the next handle is written", || read(scene, "h") != before);
        step.signal(Signal::SIGKILL);
        step.wait();
        send(pid, Signal::SIGCONT);
        // The request may have been on its way, and then it arrives.
        let unlocked = scene.output(["unlock", "--handle", "h"]);
        assert!([0, 123].contains(&code(&unlocked)), "{}", text(&unlocked.stderr));
    });
}

#[test]
fn a_handle_that_nobody_reads_is_no_reason_to_stay_held() {
    let scene = Scene::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = scene.tenure("lock name --for 10m".split(' ')).stdout(writer).output().unwrap();
    ended(&output, 125);
    assert_eq!(left(&scene), None);
}

#[test]
fn a_command_under_a_handle_is_run_as_any_other() {
    on_each_store(|scene| {
        lock(scene, "--for 50s --handle h");
        let options = "--attach --handle h --label step --max-hold 2s --ttl 50s";
        let step = scene.start(options, "echo > held; exec sleep 1000");
        scene.line("held");
        assert_eq!(scene.show("name")["holders"][0]["label"], "step");
        let output = step.wait();
        ended(&output, 123);
        assert!(text(&output.stderr).contains("--max-hold"), "{}", text(&output.stderr));
        // A hold that had to end does not go on without its command.
        eventually("the lock is free", || code(&scene.run("name --no-wait", "true")) == 0);
    });
}

#[test]
fn a_killed_tenure_leaves_its_guardian_to_end_an_attached_command() {
    let scene = Scene::new();
    lock(&scene, "--for 10m --handle h");
    let step = scene.start("--attach --handle h", "echo $$ > pid; exec sleep 1000");
    let command = scene.pids("pid")[0];
    kill(Pid::from_raw(step.pid()), Signal::SIGKILL).unwrap();
    ended(&scene.run("name", "true"), 0);
    assert!(!crate::process::lives(command));
}

#[test]
fn what_a_store_holds_for_no_longer_is_refused_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    let member = |number| format!("file:{}", folder.path().join(format!("m{number}")).display());
    let store = format!("quorum:{},{},{}", member(1), member(2), member(3));
    let scene = Scene::with_store(&store);
    let output = scene.output(["lock", "name", "--for", "10m", "--handle", "h"]);
    assert_eq!(code(&output), 125, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("or less"), "{}", text(&output.stderr));
    assert!(!scene.path("h").exists());
    let output = scene.output(["lock", "name", "--for", "20s", "--handle", "h"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let attach = ["run", "--attach", "--handle", "h", "--for", "10m", "--", "touch", "ran"];
    let output = scene.output(attach);
    assert_eq!(code(&output), 125, "{}", text(&output.stderr));
    assert!(!scene.path("ran").exists(), "the work was done before it was found");
    let output = scene.output(["renew", "--handle", "h", "--for", "10m"]);
    assert_eq!(code(&output), 125, "{}", text(&output.stderr));
    assert_eq!(code(&scene.output(["unlock", "--handle", "h"])), 0);
}

/// Redisson's watchdog of readers bounds the leases of those whom no process of tenure renews.
#[test]
fn a_reader_in_redissons_layout_is_promised_no_more_than_its_watchdog_leaves() {
    let server = RedisServer::start();
    let scene = Scene::with_store(&format!("{}?layout=redisson", server.url()));
    let writing = scene.start("name --write", "echo > held; read go");
    scene.line("held");
    // Nobody waits for a lock that is then refused.
    let refused = scene.output("lock name --shared --for 1h --wait 5s".split(' '));
    ended(&refused, 125);
    let said = text(&refused.stderr);
    assert!(said.contains("the store's longest for a detached rwlock, 30s"), "{said}");
    drop(writing);
    let handle = lock(&scene, "--shared --for 30s --wait 60s");
    let refused = with_handle(&scene, &handle, "renew --for 1h").output().unwrap();
    ended(&refused, 125);
    let said = text(&refused.stderr);
    assert!(said.contains("only up to 30s"), "{said}");
    ended(&with_handle(&scene, &handle, "renew --for 30s").output().unwrap(), 0);
}
