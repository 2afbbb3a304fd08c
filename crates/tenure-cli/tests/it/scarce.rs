//! A system that has no more processes, files or room to give: that is a failure of tenure which says so, and one of
//! the moment costs no lock.

use std::{
    fs::{self, Permissions},
    os::unix::{
        fs::{PermissionsExt, chown},
        process::CommandExt,
    },
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use tenure_servers::RedisServer;
use tenure_testkit::child::copy_program;

use crate::{
    process::{Running, code, program},
    scene::{Scene, eventually, text},
};

/// `tenure run OPTIONS -- sh -c SCRIPT` as a user who has no other processes, under what `prlimit` is told.
fn limited(scene: &Scene, user: u32, limits: &[&str], options: &str, script: &str) -> Command {
    let ours = scene.path("tenure");
    if !ours.exists() {
        copy_program(env!("CARGO_BIN_EXE_tenure"), &ours);
        fs::set_permissions(scene.path(""), Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = program("prlimit");
    command.args(limits).arg(&ours).arg("run").args(options.split_whitespace());
    command.args(["--", "sh", "-c", script]).stdin(Stdio::null()).current_dir(scene.path(""));
    command.env("TENURE_STORE", scene.store()).env("XDG_CONFIG_HOME", scene.path("config"));
    // Whom the system lets give it away is root, for whom there is no limit.
    if chown(scene.path(""), Some(user), Some(user)).is_ok() {
        command.uid(user).gid(user);
    }
    command
}

/// From now on a process may have no further threads and processes.
fn forbid_threads(user: u32, process: &Running) {
    let pid = process.pid().to_string();
    let mut command = Command::new("prlimit");
    if nix::unistd::geteuid().is_root() {
        command.uid(user).gid(user);
    }
    assert!(command.args(["--pid", &pid, "--nproc=0:"]).status().unwrap().success());
}

/// How many of these are so. Eight are tried at once, which do not hold each other up for long.
fn count<T: Sync>(all: &[T], is_so: impl Fn(&T) -> bool + Sync) -> usize {
    let next = AtomicUsize::new(0);
    let some = || {
        let mut so = 0;
        while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            so += usize::from(is_so(one));
        }
        so
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(some)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

#[test]
fn what_the_system_lacks_is_told_and_never_a_panic() {
    let mut limits: Vec<String> = (2..=8).map(|most| format!("--nproc={most}")).collect();
    limits.extend((5..=30).map(|most| format!("--nofile={most}")));
    limits.extend((0..=2).map(|most| format!("--sigpending={most}")));
    limits.extend([0, 100, 4095, 4096, 10_000].map(|most| format!("--fsize={most}")));
    let runs = |limit: &str, user: u32| {
        let scene = Scene::new();
        let output = limited(&scene, user, &[limit], "name --ttl 5s", "exit 3").output().unwrap();
        let said = text(&output.stderr);
        assert!(!said.contains("guardian was killed"), "{limit}: {said}");
        match code(&output) {
            3 => return true,
            125 => assert!(said.starts_with("tenure: error: "), "{limit}: {said}"),
            other => panic!("{limit}: {other}: {said}"),
        }
        false
    };
    // Each limit has a user of its own, since some count what a user has.
    let limits: Vec<_> = limits.into_iter().zip(54_400..).collect();
    let ran = count(&limits, |(limit, user)| runs(limit, *user));
    assert!(ran > 0 && ran < limits.len(), "{ran} of {} ran", limits.len());
}

#[test]
fn a_store_that_no_file_is_left_for_is_not_waited_for() {
    let server = RedisServer::start();
    let (file, redis) = (Scene::new(), Scene::with_store(&server.url()));
    // Each copies the program to where it runs, before others run it.
    for scene in [&file, &redis] {
        let _ = limited(scene, 54_480, &[], "", "");
    }
    let is_told = |scene: &Scene, most: u32| {
        let (limit, run) = (format!("--nofile={most}"), format!("name-{most}"));
        let begun = Instant::now();
        let output = limited(scene, 54_480, &[&limit], &run, "exit 3").output().unwrap();
        let said = text(&output.stderr);
        let told = code(&output) == 125
            && said.contains("cannot be opened")
            && said.contains("Too many open files");
        if told {
            assert!(said.contains("help: ") && !said.contains("tried for"), "{limit}: {said}");
            // It would be tried again for a whole ttl, 30 s.
            assert!(begun.elapsed() < Duration::from_secs(20), "{limit}: {said}");
        }
        told
    };
    let limits: Vec<_> = [&file, &redis]
        .into_iter()
        .flat_map(|scene| (8..=24).map(move |most| (scene, most)))
        .collect();
    let seen = count(&limits, |(scene, most)| is_told(scene, *most));
    assert!(seen > 2, "{seen} were told");
}

#[test]
fn a_limit_to_the_size_of_files_ends_no_command_for_what_tenure_says() {
    let scene = Scene::new();
    fs::write(scene.path("log"), vec![b'.'; 9_000]).unwrap();
    let log = fs::File::options().append(true).open(scene.path("log")).unwrap();
    let limit = ["--fsize=9000"];
    let mut command = limited(&scene, 54_450, &limit, "name -vvv --ttl 3s", "sleep 5; exit 3");
    // That this is no variable of tenure's it says before all else.
    command.env("TENURE_NOTHING", "1").stderr(log).stdout(Stdio::piped());
    assert_eq!(code(&command.output().unwrap()), 3);
    assert_eq!(fs::metadata(scene.path("log")).unwrap().len(), 9_000);
    // The command meets its limit as it would without tenure.
    let script = "exec dd if=/dev/zero of=large bs=1000 count=10 2> /dev/null";
    let mut command = limited(&scene, 54_450, &limit, "name", script);
    assert_eq!(code(&command.output().unwrap()), 128 + 25);
}

/// A command under a lock of 2 s, while no thread is to be had for 4 s of its 6.
fn outlasts_a_lack_of_threads(scene: &Scene, user: u32, mut meanwhile: impl FnMut()) {
    let script = "echo > held; sleep 6; exit 3";
    let mut command = limited(scene, user, &["--core=0"], "name --ttl 2s", script);
    let run = Running::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    scene.line("held");
    forbid_threads(user, &run);
    let over = Instant::now() + Duration::from_secs(4);
    while Instant::now() < over {
        meanwhile();
        thread::sleep(Duration::from_millis(100));
    }
    let output = run.wait();
    assert_eq!((code(&output), text(&output.stderr)), (3, ""));
    eventually("it is free", || scene.show("name")["holders"] == serde_json::json!([]));
}

#[test]
fn a_command_outlasts_a_lack_of_threads() {
    outlasts_a_lack_of_threads(&Scene::new(), 54_451, || {});
}

#[test]
fn a_command_outlasts_a_lack_of_threads_and_connections_to_a_host_by_its_name() {
    let server = RedisServer::start();
    let by_name = server.url().replace("127.0.0.1", "localhost");
    assert!(by_name.contains("localhost"), "{by_name}");
    let scene = Scene::with_store(&by_name);
    outlasts_a_lack_of_threads(&scene, 54_452, || {
        for kind in ["normal", "pubsub"] {
            server.command(&["CLIENT", "KILL", "TYPE", kind]);
        }
    });
}
