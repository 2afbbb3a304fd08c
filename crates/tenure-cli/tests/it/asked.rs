//! What an operator tells the holder: `ask-release`, `break --reason`, and who is in the way.

use std::process::Stdio;

use nix::sys::signal::Signal;
use tenure_servers::RedisServer;

use crate::{
    process::{Running, code},
    scene::{Scene, events, eventually, json, text},
};

const WORKS: &str =
    "exec 2>/dev/null; trap 'exit 3' TERM; echo held > held; while :; do sleep 0.01; done";

#[test]
fn a_command_that_obeys_is_terminated_and_whoever_asked_waits_for_that() {
    let scene = Scene::new();
    let works = scene.start("name --on-release-request term --json", WORKS);
    scene.line("held");
    let asked = scene.output(["ask-release", "name", "--reason", "a deploy", "--wait", "30s"]);
    assert_eq!((code(&asked), text(&asked.stdout).trim()), (0, "name was released"));
    let ended = works.wait();
    assert_eq!(code(&ended), 3, "its own exit code");
    let told = events(&ended.stderr);
    let asked = told.iter().find(|event| event["event"] == "release_requested").unwrap();
    assert_eq!(
        (&asked["by"]["reason"], &asked["command"]),
        (&"a deploy".into(), &"terminated".into())
    );
    assert!(asked["by"]["pid"].is_number() && asked["by"]["user"].is_string(), "{asked}");
    assert_eq!(scene.output(["ls"]).stdout, b"", "the request is gone");
    let free = json(&scene.output(["ask-release", "name", "--json"]).stdout);
    assert_eq!((&free["lock"], &free["answer"]), (&"name".into(), &"free".into()));
}

#[test]
fn a_command_that_is_only_warned_runs_on_and_whoever_asked_is_told_who_holds_it() {
    let scene = Scene::new();
    let works = scene.start("name --label web --reason nightly", WORKS);
    scene.line("held");
    let asked = scene.output(["ask-release", "name", "--reason", "please", "--wait", "200ms"]);
    let said = text(&asked.stderr);
    assert_eq!(code(&asked), 124, "{said}");
    assert!(said.contains("held by \"web\" (") && said.contains(": nightly)"), "{said}");
    assert!(said.contains("tenure break name --reason TEXT"), "{said}");
    let asked = scene.output(["ask-release", "name", "--reason", "now", "--wait", "2s", "--json"]);
    assert_eq!(json(&asked.stdout)["holders"][0]["label"], "web");
    let began = &events(&asked.stderr)[0];
    let holder = &began["holders"][0]["label"];
    assert_eq!((&began["event"], holder), (&"asking".into(), &"web".into()));
    let end = events(&asked.stderr).pop().unwrap();
    assert_eq!((&end["kind"], &end["lock"]), (&"timed_out".into(), &"name".into()), "{end}");
    assert!(end["token"].is_string() && end["store"].is_string(), "{end}");
    works.signal(Signal::SIGTERM);
    let said = works.wait();
    let said = text(&said.stderr);
    assert!(said.contains("asked to release name by ") && said.contains(": please"), "{said}");
    assert!(said.contains(": now"), "a second request is told too: {said}");
}

#[test]
fn a_request_is_shown_with_the_lock_while_it_stands() {
    let scene = Scene::new();
    let _works = scene.start("name", WORKS);
    scene.line("held");
    let requested_by = || scene.show("name")["release_requested_by"].clone();
    assert!(requested_by().is_null());
    let mut asks = scene.tenure(["ask-release", "name", "--reason", "a deploy"]);
    let asks = Running::start(asks.stdout(Stdio::null()).stderr(Stdio::null()));
    eventually("the request is shown", || requested_by()["reason"] == "a deploy");
    let shown = scene.output(["show", "name"]);
    let shown = text(&shown.stdout);
    assert!(shown.contains("asked to release by ") && shown.contains(": a deploy"), "{shown}");
    asks.signal(Signal::SIGTERM);
    eventually("the request is over", || requested_by().is_null());
}

#[test]
fn a_request_that_was_left_behind_keeps_no_later_holder_from_being_asked() {
    // Where the end of a process frees nothing before its lease ends.
    let server = RedisServer::start();
    let scene = Scene::with_store(&server.url());
    let first = scene.start("name", WORKS);
    scene.line("held");
    let mut asks = scene.tenure(["ask-release", "name", "--reason", "one"]);
    let asks = Running::start(asks.stdout(Stdio::null()).stderr(Stdio::null()));
    eventually("it asks", || text(&scene.output(["ls"]).stdout).contains("name~note"));
    asks.signal(Signal::SIGKILL);
    first.signal(Signal::SIGTERM);
    assert_eq!(code(&first.wait()), 3);
    let later = WORKS.replace("> held", "> again");
    let later = scene.start("name --on-release-request term", &later);
    scene.line("again");
    let asked = scene.output(["ask-release", "name", "--reason", "two", "--wait", "20s"]);
    assert_eq!(code(&asked), 0, "{}", text(&asked.stderr));
    assert_eq!(code(&later.wait()), 3);
}

#[test]
fn a_lock_that_stays_taken_is_not_called_free() {
    let scene = Scene::new();
    assert_eq!(code(&scene.run("name --hold-at-least 1h --label web", "true")), 0);
    let asked = scene.output(["ask-release", "name"]);
    let said = text(&asked.stdout);
    assert!(said.contains("no holder to ask") && said.contains("stays taken for"), "{said}");
}

#[test]
fn who_breaks_a_lock_and_why_is_said_by_the_command_that_lost_it() {
    let scene = Scene::new();
    let works = scene.start("name", WORKS);
    scene.line("held");
    let broken = scene.output(["break", "name", "--yes", "--reason", "it hangs, OPS-7"]);
    assert_eq!(code(&broken), 0, "{}", text(&broken.stderr));
    let ended = works.wait();
    let said = text(&ended.stderr);
    assert_eq!(code(&ended), 123, "{said}");
    assert!(said.contains("name was broken by ") && said.contains(": it hangs, OPS-7"), "{said}");

    let works = scene.start("name --json", &WORKS.replace("> held", "> again"));
    scene.line("again");
    assert_eq!(code(&scene.output(["break", "name", "--yes", "--reason", "once more"])), 0);
    let told = events(&works.wait().stderr);
    let lost = told.iter().find(|event| event["event"] == "lost").unwrap();
    assert_eq!((&lost["reason"], &lost["by"]["reason"]), (&"taken".into(), &"once more".into()));
    // Without a reason nothing is left behind, and nothing is said of who it was.
    let works = scene.start("name --json", &WORKS.replace("> held", "> third"));
    scene.line("third");
    assert_eq!(code(&scene.output(["break", "name", "--yes"])), 0);
    let told = events(&works.wait().stderr);
    assert!(told.iter().any(|event| event["event"] == "lost" && event["by"].is_null()), "{told:?}");
}

#[test]
fn a_reason_that_cannot_be_left_keeps_no_lock_from_being_broken() {
    let scene = Scene::new();
    let name = "x".repeat(510);
    let works = scene.start(&name, WORKS);
    scene.line("held");
    let asked = scene.output(["ask-release", &name]);
    assert_eq!(code(&asked), 125);
    assert!(text(&asked.stderr).contains("no room for a note"), "{}", text(&asked.stderr));
    let broken = scene.output(["break", &name, "--yes", "--reason", "it hangs"]);
    assert_eq!(code(&broken), 0);
    assert!(text(&broken.stderr).contains("the holder is not told"), "{}", text(&broken.stderr));
    assert_eq!(code(&works.wait()), 123);
}
