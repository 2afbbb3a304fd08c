//! What happened to a lock: `run --history`, `history`, and the last holder in `show`.

use std::fs;

use nix::sys::signal::Signal;
use serde_json::Value;
use tenure_servers::{MariadbServer, PostgresServer, RedisServer};

use crate::{
    process::code,
    scene::{Scene, eventually, json, text},
};

const WORKS: &str = "echo held > held; exec sleep 1000";

fn entries(scene: &Scene) -> Vec<Value> {
    let told = scene.output(["history", "nightly", "--json"]);
    assert_eq!(code(&told), 0, "{}", text(&told.stderr));
    let told = json(&told.stdout);
    assert_eq!(told["lock"], "nightly");
    told["entries"].as_array().unwrap().clone()
}

/// Did it run, where, how long, with which token, and who broke the one before?
fn one_command_answers_the_questions_of_a_bad_night(scene: &Scene) {
    let works = scene.start("nightly --history --label web --reason invoices", WORKS);
    scene.line("held");
    // It is written in the background.
    eventually("the hold has an entry", || !entries(scene).is_empty());
    let held = &entries(scene)[0];
    assert_eq!((&held["ended"], &held["until"]), (&Value::Null, &Value::Null));
    assert_eq!((&held["label"], &held["reason"]), (&"web".into(), &"invoices".into()));
    let broken = scene.output(["break", "nightly", "--yes", "--reason", "it hangs"]);
    assert_eq!(code(&broken), 0, "{}", text(&broken.stderr));
    works.wait();
    let next = scene.run("nightly --history=7d", "exit 3");
    assert_eq!(code(&next), 3, "{}", text(&next.stderr));
    let told = entries(scene);
    let [last, broken] = &told[..] else { panic!("{told:?}") };
    assert_eq!((&broken["ended"], &broken["token"]), (&"broken".into(), &held["token"]));
    assert_eq!(broken["broken_by"]["reason"], "it hangs");
    assert!(broken["broken_by"]["pid"].is_number() && broken["host"].is_string(), "{broken}");
    assert_eq!((&last["ended"], &last["exit_code"]), (&"released".into(), &3.into()));
    assert!(last["held_ms"].is_number() && last["from"].is_string(), "{last}");
    assert_eq!(&scene.show("nightly")["last"], last);
    let shown = scene.output(["show", "nightly"]);
    let shown = text(&shown.stdout);
    assert!(shown.contains("nightly is free\nlast held by "), "{shown}");
    assert!(shown.contains("(released, exit code 3)"), "{shown}");
    let table = scene.output(["history", "nightly", "--limit", "1"]);
    let table = text(&table.stdout);
    assert!(table.contains("released") && !table.contains("broken"), "{table}");
}

#[test]
fn in_the_embedded_store_a_lock_has_a_history() {
    one_command_answers_the_questions_of_a_bad_night(&Scene::new());
}

#[test]
fn on_redis_a_lock_has_a_history() {
    let server = RedisServer::start();
    one_command_answers_the_questions_of_a_bad_night(&Scene::with_store(&server.url()));
}

#[test]
fn on_postgres_a_lock_has_a_history() {
    let server = PostgresServer::start();
    one_command_answers_the_questions_of_a_bad_night(&Scene::with_store(&server.url()));
}

#[test]
fn on_mariadb_a_lock_has_a_history() {
    let server = MariadbServer::start();
    one_command_answers_the_questions_of_a_bad_night(&Scene::with_store(&server.url()));
}

#[test]
fn it_is_off_until_the_configuration_or_a_flag_asks_for_it() {
    let scene = Scene::new();
    assert_eq!(code(&scene.run("nightly", "true")), 0);
    assert!(entries(&scene).is_empty());
    let none = scene.output(["history", "nightly"]);
    assert!(text(&none.stdout).contains("no history"), "{}", text(&none.stdout));
    assert_eq!(scene.show("nightly")["last"], Value::Null);
    fs::create_dir_all(scene.path("config/tenure")).unwrap();
    fs::write(scene.path("config/tenure/config.toml"), "[history]\n'night*' = 2\n").unwrap();
    for _ in 0..3 {
        assert_eq!(code(&scene.run("nightly", "true")), 0);
    }
    assert_eq!(entries(&scene).len(), 2);
}

#[test]
fn a_holder_that_is_killed_is_expired() {
    let scene = Scene::new();
    let works = scene.start("nightly --history --ttl 1s", WORKS);
    scene.line("held");
    // Its entry is on the way.
    eventually("it is told", || entries(&scene).len() == 1);
    works.signal(Signal::SIGKILL);
    works.wait();
    assert_eq!(code(&scene.run("nightly --history", "true")), 0);
    let told = entries(&scene);
    assert_eq!((&told[1]["ended"], &told[1]["exit_code"]), (&"expired".into(), &Value::Null));
    assert!(told[1]["until"].is_string(), "by the next grant");
}

#[test]
fn where_no_history_is_kept_it_is_refused() {
    let server = RedisServer::start();
    let scene = Scene::with_store(&format!("{}?layout=plain", server.url()));
    let option = &["run", "x", "--history", "--", "true"][..];
    for (words, expected) in [(option, 2), (&["history", "x"], 125)] {
        let refused = scene.output(words.iter().copied());
        assert_eq!(code(&refused), expected, "{words:?}");
        let said = text(&refused.stderr);
        assert!(said.contains("a history of locks is kept only in tenure's own layout"), "{said}");
    }
    assert_eq!(code(&scene.run("x", "true")), 0);
    for wrong in ["0", "1001", "often", "367d"] {
        let refused = scene.run(&format!("x --history={wrong}"), "true");
        assert_eq!(code(&refused), 2, "{wrong}");
    }
}
