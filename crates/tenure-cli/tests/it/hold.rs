//! `tenure hold`: a lock for a program in any language.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    process::Stdio,
    time::{Duration, Instant},
};

use nix::{
    fcntl::{FcntlArg, fcntl},
    sys::signal::Signal,
};
use tenure_servers::RedisServer;

use crate::{
    holder::Holder,
    process::{Running, code, full_pipe, lives, program, send},
    scene::{Scene, eventually, text},
};

fn is_free(scene: &Scene, name: &str) -> bool {
    scene.show(name)["holders"].as_array().unwrap().is_empty()
}

/// A program that is the parent of `tenure hold`, which it starts as "$0".
fn shell(scene: &Scene, script: &str) -> Running {
    let mut parent = program("bash");
    parent.args(["-c", script, env!("CARGO_BIN_EXE_tenure")]).current_dir(scene.path(""));
    parent.env("TENURE_STORE", scene.store()).env_remove("TENURE_CONFIG").stdin(Stdio::null());
    Running::start(&mut parent)
}

#[test]
fn a_lock_is_held_until_it_is_released() {
    let scene = Scene::new();
    let mut holder = Holder::start(&scene, "name --ttl 20s --reason import");
    let acquired = holder.hear("acquired");
    let token = acquired["token"].as_str().unwrap();
    assert_eq!(acquired["token_number"].to_string(), token);
    assert_eq!(acquired["lock"], "name");
    holder.say("check 7");
    let checked = holder.hear("checked");
    assert_eq!((&checked["id"], &checked["held"]), (&"7".into(), &true.into()));
    let valid = checked["valid_ms"].as_u64().unwrap();
    assert!((1..=20_000).contains(&valid), "{checked}");
    let seen = &scene.show("name")["holders"][0];
    assert_eq!((&seen["token"], &seen["reason"]), (&token.into(), &"import".into()));
    let parent = format!("/{} ", std::process::id());
    assert!(seen["label"].as_str().unwrap().contains(&parent), "of the program: {seen}");
    holder.say(r#"{"command":"release"}"#);
    let released = holder.hear("released");
    assert!(released["held_ms"].is_number(), "{released}");
    assert_eq!(holder.end(), 0);
    assert!(is_free(&scene, "name"));
}

#[test]
fn a_lock_is_released_when_the_input_ends_also_before_it_was_acquired() {
    let scene = Scene::new();
    let mut holder = Holder::start(&scene, "name");
    holder.hear("acquired");
    let mut waits = Holder::start(&scene, "name");
    let waiting = waits.hear("waiting");
    assert!(waiting["holder"]["token"].is_string() && waiting["ahead"].is_number(), "{waiting}");
    waits.say("check");
    assert_eq!(waits.hear("checked")["held"], false);
    waits.close_input();
    assert_eq!(waits.hear("given_up")["asked"], false);
    assert_eq!(waits.end(), 125, "it has no lock");
    let mut waits = Holder::start(&scene, "name");
    waits.hear("waiting");
    waits.say("release");
    assert_eq!(waits.hear("given_up")["asked"], true);
    assert_eq!(waits.end(), 0);
    assert!(scene.show("name")["waiters"].as_array().unwrap().is_empty());
    holder.close_input();
    holder.hear("released");
    assert_eq!(holder.end(), 0);
    assert!(is_free(&scene, "name"));
}

/// The grandchild has both ends of the input, which therefore never ends.
#[test]
fn a_lock_is_free_when_the_parent_is_killed_though_a_grandchild_has_its_pipe() {
    let redis = RedisServer::start();
    for scene in [Scene::new(), Scene::with_store(&redis.url())] {
        let script = r#"mkfifo in; exec 3<>in
            "$0" hold name --json --ttl 30s <&3 >out &
            sleep 300 <&3 & echo $! >grandchild
            wait"#;
        let parent = shell(&scene, script);
        let grandchild = scene.pids("grandchild")[0];
        let acquired =
            || fs::read_to_string(scene.path("out")).unwrap_or_default().contains("acquired");
        eventually("it is acquired", acquired);
        parent.signal(Signal::SIGKILL);
        eventually("the lock is free", || is_free(&scene, "name"));
        assert!(lives(grandchild));
        send(grandchild, Signal::SIGKILL);
    }
}

#[test]
fn a_parent_that_is_not_the_one_named_gets_nothing() {
    let scene = Scene::new();
    let refused = scene.output(["hold", "name", "--parent", "1"]);
    assert_eq!(code(&refused), 2);
    assert!(text(&refused.stderr).contains("process 1 did not start tenure"), "{refused:?}");
    let mut holder = Holder::start(&scene, &format!("name --parent {}", std::process::id()));
    holder.hear("acquired");
    holder.close_input();
    assert_eq!(holder.end(), 0);
}

/// What a program may count on: the last check that was answered, from when it was sent.
#[test]
fn no_one_else_holds_before_the_last_answer_to_a_check_is_over() {
    let redis = RedisServer::start();
    for scene in [Scene::new(), Scene::with_store(&redis.url())] {
        let mut holder = Holder::start(&scene, "name --ttl 2s");
        holder.hear("acquired");
        let sent = Instant::now();
        holder.say("check");
        let valid = holder.hear("checked")["valid_ms"].as_u64().unwrap();
        let until = sent + Duration::from_millis(valid);
        holder.signal(Signal::SIGSTOP);
        holder.say("check late");
        let mut other = Holder::start(&scene, "name");
        other.hear("acquired");
        assert!(Instant::now() >= until, "granted {:?} too early", until - Instant::now());
        holder.signal(Signal::SIGCONT);
        assert_eq!(holder.hear("lost")["reason"], "deadline");
        assert_eq!(holder.end(), 123);
        other.close_input();
        assert_eq!(other.end(), 0);
    }
}

#[test]
fn a_lock_outlives_its_lease_while_the_program_is_frozen() {
    let scene = Scene::new();
    let script = r#"mkfifo in; exec 3<>in
        "$0" hold name --json --ttl 1s <&3 >out & echo $! >holder; wait"#;
    let parent = shell(&scene, script);
    let said = || fs::read_to_string(scene.path("out")).unwrap_or_default();
    eventually("it is acquired", || said().contains("acquired"));
    parent.signal(Signal::SIGSTOP);
    let renewals = || said().matches(r#""event":"renewed""#).count();
    eventually("two leases are over", || renewals() >= 7);
    assert!(!is_free(&scene, "name"));
    parent.signal(Signal::SIGKILL);
    eventually("the lock is free", || is_free(&scene, "name"));
}

#[test]
fn a_loss_is_told_with_who_did_it() {
    let scene = Scene::new();
    let holder = Holder::start(&scene, "name");
    holder.hear("acquired");
    let broken = scene.output(["break", "name", "--yes", "--reason", "it hangs"]);
    assert_eq!(code(&broken), 0);
    let lost = holder.hear("lost");
    assert_eq!((&lost["reason"], &lost["command"]), (&"taken".into(), &serde_json::Value::Null));
    let by = if lost["by"].is_null() { holder.hear("broken") } else { lost };
    assert_eq!(by["by"]["reason"], "it hangs");
    assert_eq!(holder.end(), 123);
}

/// A signal may be for all of a group, and the program may count on the lock for a while.
#[test]
fn neither_a_request_nor_a_signal_ends_a_hold() {
    let scene = Scene::new();
    let mut holder = Holder::start(&scene, "name");
    holder.hear("acquired");
    let asks =
        scene.tenure(["ask-release", "name", "--reason", "a deploy"]).stderr(Stdio::null()).spawn();
    let mut asks = asks.unwrap();
    assert_eq!(holder.hear("release_requested")["by"]["reason"], "a deploy");
    asks.kill().unwrap();
    asks.wait().unwrap();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT] {
        holder.signal(signal);
        assert_eq!(holder.hear("release_requested")["signal"], signal as i32);
    }
    // Nobody asks for anything by these, which end or stop most programs.
    let others = [1, 10, 12, 13, 14, 16, 20, 21, 22, 24, 25, 26, 27, 29, 30, 34, 40, 64];
    for (id, number) in others.into_iter().filter(|number| *number != 1).enumerate() {
        kill_with(&holder, number);
        holder.say(&format!("check {id}"));
        assert_eq!(holder.hear("checked")["held"], true, "signal {number}");
    }

    let waits = Holder::start(&scene, "name");
    waits.hear("waiting");
    waits.signal(Signal::SIGTERM);
    assert_eq!(waits.hear("interrupted")["exit_code"], 143);
    assert_eq!(waits.end(), 143, "nobody counts on a lock that is waited for");
    holder.say("release");
    assert_eq!(holder.end(), 0);
}

/// A number that has no name in Rust, too.
fn kill_with(holder: &Holder, number: i32) {
    let killed = program("kill").args([format!("-{number}"), holder.pid().to_string()]).status();
    assert!(killed.unwrap().success());
}

/// It may be answered after the release.
#[test]
fn a_check_behind_a_release_says_that_nothing_is_held() {
    let scene = Scene::new();
    let mut holder = Holder::start(&scene, "name");
    holder.hear("acquired");
    holder.say("release\ncheck 1\ncheck 2");
    while let Some(line) = holder.next() {
        assert!(line["event"] != "checked" || line["held"] == false, "{line}");
    }
    assert_eq!(holder.end(), 0);
}

#[test]
fn a_hold_obeys_while_its_store_is_away() {
    let scene = Scene::with_store("redis://127.0.0.1:1");
    let mut holder = Holder::start(&scene, "name");
    holder.say("check");
    assert_eq!(holder.hear("checked")["held"], false);
    holder.say("release");
    holder.hear("given_up");
    assert_eq!(holder.end(), 0);

    let mut many = Holder::start(&scene, "--multiplex");
    many.say(r#"{"command":"acquire","hold":"a","lock":"name","wait_ms":300}"#);
    many.say(r#"{"command":"acquire","hold":"b","lock":"name"}"#);
    many.say(r#"{"command":"check","hold":"b"}"#);
    assert_eq!(many.hear("checked")["held"], false);
    let error = many.hear("error");
    assert_eq!((&error["hold"], &error["exit_code"]), (&"a".into(), &125.into()));
    many.close_input();
    assert_eq!(many.hear("given_up")["hold"], "b");
    assert_eq!(many.end(), 0);
}

/// A program that awaits each answer would wait for ever.
#[test]
fn every_check_is_answered() {
    let scene = Scene::new();
    let mut holder = Holder::start(&scene, "name");
    holder.hear("acquired");
    let all: Vec<_> = (0..1000).map(|id| format!("check {id}")).collect();
    holder.say(&all.join("\n"));
    let mut answered = std::collections::HashSet::new();
    while answered.len() < all.len() {
        let line = holder.next().unwrap();
        if line["event"] == "checked" || line["event"] == "refused" {
            answered.insert(line["id"].as_str().unwrap().to_owned());
        }
    }
    holder.say("release");
    assert_eq!(holder.end(), 0);
}

/// Its log is more than the pipe has room for.
#[test]
fn a_log_that_nobody_reads_delays_nothing() {
    let scene = Scene::new();
    let (_unread, log) = full_pipe();
    let mut command = scene.tenure(["hold", "name", "--json", "-vvv", "--ttl", "1s"]);
    let mut holder = Holder::spawn(command.stderr(log));
    // It would have lost it, if what renews waited for the reader.
    let acquired = holder.hear("acquired");
    holder.hear("renewed");
    holder.hear("renewed");
    holder.say("check");
    assert_eq!(holder.hear("checked")["held"], true);
    assert_eq!(scene.show("name")["holders"][0]["token"], acquired["token"]);
    holder.say("release");
    holder.hear("released");
    assert_eq!(holder.end(), 0);
}

#[test]
fn a_pipe_that_returns_at_once_ends_nothing() {
    let scene = Scene::new();
    let (input, mut to_input) = std::io::pipe().unwrap();
    fcntl(&input, FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK)).unwrap();
    let mut command = scene.tenure(["hold", "name", "--json"]);
    let mut child = command.stdin(input).stdout(Stdio::null()).spawn().unwrap();
    eventually("it is held", || !is_free(&scene, "name"));
    assert_eq!(child.try_wait().unwrap(), None);
    write!(to_input, "rel").unwrap();
    writeln!(to_input, "ease").unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_busy_lock_has_the_exit_code_of_run() {
    let scene = Scene::new();
    let holder = Holder::start(&scene, "name");
    let token = holder.hear("acquired")["token"].clone();
    let tries = Holder::start(&scene, "name --no-wait --busy-exit-code 75");
    let busy = tries.hear("busy");
    assert_eq!((&busy["holder"]["token"], &busy["exit_code"]), (&token, &75.into()));
    assert_eq!(tries.end(), 75);
}

#[test]
fn a_reader_that_does_not_read_delays_no_end() {
    let scene = Scene::new();
    let mut command = scene.tenure(["hold", "name", "--json", "--ttl", "2s"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    eventually("it is held", || !is_free(&scene, "name"));
    let mut input = child.stdin.take().unwrap();
    // Each is answered by more than a hundred bytes, and the pipe has room for 64 KiB.
    for _ in 0..2000 {
        writeln!(input, "check").unwrap();
    }
    let since = Instant::now();
    // It is renewed, though nobody reads that.
    eventually("a lease is over", || since.elapsed() > Duration::from_secs(3));
    assert!(!is_free(&scene, "name"));
    writeln!(input, "release").unwrap();
    eventually("it is released", || is_free(&scene, "name"));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// It may count on what it heard last, though it hears no more.
#[test]
fn a_lock_whose_program_closed_the_output_is_released_when_that_can_be_counted_on_no_more() {
    let scene = Scene::new();
    let mut command = scene.tenure(["hold", "name", "--json", "--ttl", "3s"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "check").unwrap();
    while !line.contains(r#""held":true"#) {
        line.clear();
        output.read_line(&mut line).unwrap();
        if line.contains("acquired") {
            writeln!(input, "check").unwrap();
        }
    }
    let valid = crate::scene::json(line.as_bytes())["valid_ms"].as_u64().unwrap();
    let until = Instant::now() + Duration::from_millis(valid);
    drop(output);
    writeln!(input, "check").unwrap();
    eventually("the lock is free", || is_free(&scene, "name"));
    // The answer was read a little after the check was sent.
    assert!(Instant::now() + Duration::from_millis(100) >= until);
    child.wait().unwrap();
}

#[test]
fn one_process_holds_many() {
    let scene = Scene::new();
    let mut holder = Holder::start(&scene, "--multiplex");
    holder.say(r#"{"command":"acquire","hold":"a","lock":"x","reason":"one"}"#);
    let one = holder.hear("acquired");
    assert_eq!((&one["hold"], &one["lock"]), (&"a".into(), &"x".into()));
    holder.say(r#"{"command":"acquire","hold":"b","lock":"x","wait_ms":0}"#);
    let busy = holder.hear("busy");
    assert_eq!((&busy["hold"], &busy["holder"]["reason"]), (&"b".into(), &"one".into()));
    holder.say(r#"{"command":"acquire","hold":"b","all":["y","z"]}"#);
    let all = holder.hear("acquired");
    assert_eq!((&all["lock"], &all["tokens"][1]["lock"]), (&"y,z".into(), &"z".into()));
    holder.say(r#"{"command":"acquire","hold":"a","lock":"w"}"#);
    let refused = holder.hear("refused");
    assert!(refused["message"].as_str().unwrap().contains("called \"a\" already"), "{refused}");
    assert_eq!(refused["hold"], "a");

    holder.say(r#"{"command":"acquire","hold":"q","lock":"w","wait":"5s"}"#);
    let refused = holder.hear("refused");
    assert_eq!(refused["hold"], "q", "it is not waited for in vain: {refused}");

    holder.say(r#"{"command":"check","hold":"a","id":1}"#);
    let checked = holder.hear("checked");
    assert_eq!(
        (&checked["hold"], &checked["id"], &checked["held"]),
        (&"a".into(), &1.into(), &true.into())
    );
    holder.say(r#"{"command":"check","hold":"c"}"#);
    let none = holder.hear("checked");
    assert_eq!((&none["hold"], &none["held"]), (&"c".into(), &false.into()));

    scene.output(["break", "y", "--yes"]);
    assert_eq!(holder.hear("lost")["hold"], "b");
    // Who broke it may be said a moment later.
    holder.say(r#"{"command":"acquire","hold":"b","lock":"y"}"#);
    assert_eq!(holder.hear("acquired")["hold"], "b");
    holder.say(r#"{"command":"release","hold":"b"}"#);
    assert_eq!(holder.hear("released")["hold"], "b");
    holder.say(r#"{"command":"release","hold":"a"}"#);
    assert_eq!(holder.hear("released")["hold"], "a");
    assert!(is_free(&scene, "x"));
    eventually("what was held with it is free", || is_free(&scene, "z"));

    holder.say(r#"{"command":"acquire","hold":"a","lock":"x"}"#);
    holder.hear("acquired");
    holder.close_input();
    assert_eq!(holder.end(), 0);
    assert!(is_free(&scene, "x"));
}

#[test]
fn what_is_not_understood_is_said_and_ends_nothing() {
    let scene = Scene::new();
    let mut holder = Holder::start(&scene, "name");
    holder.hear("acquired");
    holder.say("relaese");
    assert!(holder.hear("refused")["message"].as_str().unwrap().contains("no command"));
    holder.say(r#"{"command":"check"}"#);
    assert_eq!(holder.hear("checked")["held"], true);
    holder.say("release");
    assert_eq!(holder.end(), 0);
}

#[test]
fn a_person_sees_sentences() {
    let scene = Scene::new();
    let mut command = scene.tenure(["hold", "name"]);
    let mut holder = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(holder.stdout.take().unwrap()).lines().map(Result::unwrap);
    let acquired = said.next().unwrap();
    let mut input = holder.stdin.take().unwrap();
    writeln!(input, "check").unwrap();
    let checked = said.next().unwrap();
    drop(input);
    let released = said.next().unwrap();
    assert_eq!((said.next(), code(&holder.wait_with_output().unwrap())), (None, 0));
    assert!(acquired.starts_with("holding name with token "), "{acquired}");
    assert!(checked.starts_with("name is held, and may be counted on for "), "{checked}");
    assert!(released.starts_with("released name after holding it for "), "{released}");

    let given_up = scene.output(["hold", "name"]);
    assert_eq!(code(&given_up), 125);
    assert!(text(&given_up.stdout).contains("standard input has ended"), "{given_up:?}");
}
