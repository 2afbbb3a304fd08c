//! Commands that share a lock, and commands that take permits.

use nix::sys::signal::Signal;

use crate::{
    process::code,
    scene::{Scene, eventually, text},
};

/// Says in the file `$1` that it runs, and goes on until there is a file `go`.
fn until_go(file: &str) -> String {
    format!("echo $TENURE_TOKEN > {file}; until [ -e go ]; do sleep 0.01; done")
}

#[test]
fn readers_run_together_and_a_writer_alone() {
    let scene = Scene::new();
    let first = scene.start("name --shared --label one", &until_go("first"));
    let second = scene.start("name --shared --label two", &until_go("second"));
    scene.line("first");
    scene.line("second");
    assert_eq!(code(&scene.run("name --no-wait", "true")), 124);
    let writer = scene.start("name --label writer", "echo wrote > wrote");
    scene.until_waiting("name", 1);
    let late = scene.run("name --shared --no-wait", "true");
    assert_eq!(code(&late), 124, "a reader passed a waiting writer");
    let seen = scene.show("name");
    assert_eq!(seen["holders"].as_array().unwrap().len(), 2);
    assert_eq!(seen["holders"][1]["mode"], "shared");
    assert_eq!(seen["waiters"][0]["mode"], "exclusive");
    assert_eq!(seen["holders"][0]["kind"], "rwlock");
    assert_eq!(seen["waiters"][0]["kind"], "mutex");
    assert!(!scene.path("wrote").exists());
    std::fs::write(scene.path("go"), "").unwrap();
    for reader in [first, second] {
        assert_eq!(code(&reader.wait()), 0);
    }
    assert_eq!(code(&writer.wait()), 0);
    assert!(scene.path("wrote").exists());
}

#[test]
fn no_more_commands_run_than_there_are_permits() {
    let scene = Scene::new();
    let two = scene.start("name --permits 3 --take 2 --label two", &until_go("two"));
    let one = scene.start("name --permits 3 --label one", &until_go("one"));
    scene.line("two");
    scene.line("one");
    assert_eq!(code(&scene.run("name --permits 3 --no-wait", "true")), 124);
    let _next = scene.start("name --permits 3 --label next", &until_go("next"));
    scene.until_waiting("name", 1);
    let seen = scene.show("name");
    let permits = |who: &str| {
        let all = seen["holders"].as_array().unwrap();
        all.iter().find(|holder| holder["label"] == who).unwrap()["mode"].clone()
    };
    assert_eq!(permits("two"), serde_json::json!({ "permits": 2, "of": 3 }));
    assert_eq!(permits("one"), serde_json::json!({ "permits": 1, "of": 3 }));
    assert_eq!(seen["waiters"][0]["mode"], serde_json::json!({ "permits": 1, "of": 3 }));
    let shown = scene.output(["show", "name"]);
    assert!(text(&shown.stdout).contains("2 of 3 permits"), "{}", text(&shown.stdout));
    let listed = scene.output(["ls"]);
    assert!(text(&listed.stdout).contains("1 of 3 permits"), "{}", text(&listed.stdout));
    // A killed command's permits come back, and only those.
    one.signal(Signal::SIGKILL);
    scene.line("next");
    assert_eq!(scene.show("name")["holders"].as_array().unwrap().len(), 2);
    std::fs::write(scene.path("go"), "").unwrap();
    assert_eq!(code(&two.wait()), 0);
    eventually("all permits are back", || {
        code(&scene.run("name --permits 3 --take 3 --no-wait", "true")) == 0
    });
}

#[test]
fn more_permits_take_effect_for_those_who_ask_with_the_new_number() {
    let scene = Scene::new();
    let _all = scene.start("name --permits 1", &until_go("held"));
    scene.line("held");
    assert_eq!(code(&scene.run("name --permits 1 --no-wait", "true")), 124);
    assert_eq!(code(&scene.run("name --permits 2 --no-wait", "true")), 0);
    std::fs::write(scene.path("go"), "").unwrap();
}

#[test]
fn options_that_exclude_each_other_are_wrong_usage() {
    let scene = Scene::new();
    for (options, says) in [
        ("name --shared --permits 3", "'--shared' cannot be used with '--permits <N>'"),
        ("name --take 2", "--permits <N>"),
        ("name --permits 0", "0 is not in 1.."),
        ("name --permits 3 --take 0", "0 is not in 1.."),
        ("name --permits 3 --take 4", "4 permits of 3 can never be granted"),
    ] {
        let refused = scene.run(options, "true");
        assert_eq!(code(&refused), 2, "{options}");
        assert!(text(&refused.stderr).contains(says), "{options}: {}", text(&refused.stderr));
    }
    assert_eq!(scene.show("name")["holders"], serde_json::json!([]));
}

#[test]
fn a_permit_that_is_broken_is_not_called_fenced_off() {
    let scene = Scene::new();
    let _holder = scene.start("name --permits 3", &until_go("held"));
    scene.line("held");
    let broken = scene.output(["break", "name", "--yes"]);
    let said = text(&broken.stdout);
    assert!(said.contains("Its permits are free") && !said.contains("fenced"), "{said}");
}
