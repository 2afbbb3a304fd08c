//! Waiting for a lock while the store goes away.

use std::{fs, process::Stdio};

use nix::sys::signal::Signal;
use tenure_servers::RedisServer;

use crate::{
    process::{Running, code, lives, program, send},
    scene::{Scene, events, eventually, text},
};

/// A server with a lock that is held, and one that waits for it as `options` say.
struct Away {
    server: RedisServer,
    scene: Scene,
    _holder: Running,
    waiter: Running,
}

impl Away {
    fn new(subcommand: &str, options: &str) -> Self {
        let server = RedisServer::start();
        let scene = Scene::with_store(&server.url());
        let holder = scene.start("name --label web-7", "echo > held; exec sleep 1000");
        scene.line("held");
        let waiter = scene.start_as(subcommand, &format!("name {options}"), "echo never");
        scene.until_waiting("name", 1);
        Self { server, scene, _holder: holder, waiter }
    }

    fn stop(&self) {
        send(i32::try_from(self.server.pid().unwrap()).unwrap(), Signal::SIGSTOP);
    }

    fn ends(self) -> std::process::Output {
        let pid = self.waiter.pid();
        eventually("the wait is over", || !lives(pid));
        self.waiter.wait()
    }
}

#[test]
fn a_wait_that_saw_the_lock_busy_gives_124_although_the_store_went_away() {
    for subcommand in ["run", "elect"] {
        let mut away = Away::new(subcommand, "--wait 4s --json");
        away.server.kill();
        let output = away.ends();
        let said = events(&output.stderr);
        assert_eq!((code(&output), text(&output.stdout)), (124, ""), "{said:?}");
        let gone = said.iter().find(|event| event["event"] == "store_unreachable").unwrap();
        // A connection that was about to be accepted is reset.
        let message = gone["message"].as_str().unwrap();
        let is_gone =
            ["cannot be reached", "reset by peer"].iter().any(|why| message.contains(why));
        assert!(is_gone, "{gone}");
        let last = said.last().unwrap();
        assert_eq!((&last["event"], &last["exit_code"]), (&"busy".into(), &124.into()), "{last}");
        assert!(last["message"].as_str().unwrap().contains("not free within 4s"), "{last}");
    }
}

#[test]
fn a_wait_ends_with_a_store_that_stands_still_too() {
    let away = Away::new("run", "--wait 6s --busy-exit-code 75 -v");
    away.stop();
    let output = away.ends();
    assert_eq!(code(&output), 75, "{}", text(&output.stderr));
}

#[test]
fn a_waiter_says_with_v_once_that_the_store_is_away() {
    let mut away = Away::new("run", "--wait 60s -v --ttl 60s");
    let said = away.scene.path("said");
    let mut command = away.scene.run_command("name -v --ttl 60s", "echo never");
    command.stderr(fs::File::create(&said).unwrap());
    let second = Running::start(&mut command);
    let said = || fs::read_to_string(&said).unwrap();
    eventually("it waits", || said().contains("held by \"web-7\""));
    let address = away.server.address().to_string();
    away.server.kill();
    eventually("it says that the store is away", || {
        said().contains("; the store is unreachable") && said().contains(&address)
    });
    assert_eq!(said().matches("; the store is unreachable").count(), 1, "once: {}", said());
    drop(second);
}

#[test]
fn a_store_that_never_answered_gives_125_when_the_wait_is_over() {
    let server = RedisServer::start();
    let scene = Scene::with_store(&server.url());
    let pid = i32::try_from(server.pid().unwrap()).unwrap();
    send(pid, Signal::SIGSTOP);
    for (subcommand, more) in [("run", ""), ("elect", ""), ("lock", " --for 1m")] {
        let args = format!("{subcommand} name --wait 200ms{more}");
        let words = args.split(' ');
        let command: &[&str] = if subcommand == "lock" { &[] } else { &["--", "true"] };
        let output = scene.output(words.chain(command.iter().copied()));
        let said = text(&output.stderr);
        assert_eq!(code(&output), 125, "{args}: {said}");
        assert!(said.contains("did not answer within 200ms"), "{args}: {said}");
    }
    send(pid, Signal::SIGCONT);
}

#[test]
fn a_terminal_shows_that_the_store_is_away_and_who_holds_the_lock_when_it_is_back() {
    let away = Away::new("run", "--wait 60s");
    let screen = away.scene.path("screen");
    let mut command = program("script");
    let line = format!("{} run name --ttl 60s -- true", env!("CARGO_BIN_EXE_tenure"));
    command.args(["-qfec", &line]).arg(&screen).env("TENURE_STORE", away.scene.store());
    command.env("TERM", "xterm").stdin(Stdio::null()).stdout(Stdio::null());
    let waiter = Running::start(&mut command);
    let seen = || fs::read_to_string(&screen).unwrap_or_default();
    eventually("it shows who holds the lock", || seen().contains("held by \"web-7\" for"));
    away.stop();
    let gone = "waiting for name: the store is unreachable: ";
    eventually("it shows that the store is away", || seen().contains(gone));
    send(i32::try_from(away.server.pid().unwrap()).unwrap(), Signal::SIGCONT);
    eventually("it shows again who holds the lock", || {
        seen().rsplit_once(gone).is_some_and(|(_, behind)| behind.contains("held by \"web-7\" for"))
    });
    drop(waiter);
}

#[test]
fn a_store_that_is_down_at_the_start_is_waited_for() {
    let mut server = RedisServer::start();
    let scene = Scene::with_store(&server.url());
    for (subcommand, options) in [
        ("run", "--wait 60s"),
        ("run", ""),
        ("elect", "--wait 60s"),
        ("lock", "--for 1m --wait 60s"),
    ] {
        server.kill();
        let said = scene.path("said");
        let words = format!("{subcommand} {subcommand}{} {options} -v", options.len());
        let command = if subcommand == "lock" { "" } else { " -- true" };
        let mut running = program(env!("CARGO_BIN_EXE_tenure"));
        running.args(format!("{words}{command}").split_whitespace());
        running.env("TENURE_STORE", scene.store()).stderr(fs::File::create(&said).unwrap());
        let running = Running::start(running.stdin(Stdio::null()).stdout(Stdio::piped()));
        let said = || fs::read_to_string(&said).unwrap();
        eventually("it says that the store is away", || {
            said().contains("the store is unreachable")
        });
        server.restart();
        assert_eq!(code(&running.wait()), 0, "{words}: {}", said());
        assert_eq!(said().matches("the store is unreachable").count(), 1, "once: {}", said());
    }
}

#[test]
fn what_no_wait_mends_is_an_error_at_once() {
    let mut server = RedisServer::start();
    let scene = Scene::with_store(&server.url());
    let wrong = server.url().replace("redis://", "redis://nobody:wrong@");
    let refused =
        scene.output(["run", "a", "--wait", "60s", "--json", "--store", &wrong, "--", "true"]);
    assert_eq!(code(&refused), 125);
    let away = |output: &std::process::Output| {
        events(&output.stderr).iter().any(|event| event["event"] == "store_unreachable")
    };
    assert!(!away(&refused), "{}", text(&refused.stderr));
    server.kill();
    let refused = scene.output(["run", "a", "--no-wait", "--json", "--", "true"]);
    assert_eq!(code(&refused), 125);
    assert!(!away(&refused), "{}", text(&refused.stderr));
}

#[test]
fn a_store_that_does_not_come_gives_125_and_says_why() {
    let mut server = RedisServer::start();
    let scene = Scene::with_store(&server.url());
    server.kill();
    for options in ["--wait 1500ms", "--ttl 1s"] {
        let words = format!("run a {options} -- true");
        let output = scene.output(words.split(' '));
        let said = text(&output.stderr);
        assert_eq!(code(&output), 125, "{said}");
        assert!(said.contains("cannot be reached"), "{said}");
        assert!(said.contains("(tried for "), "{said}");
    }
}
