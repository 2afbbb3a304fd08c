//! Commands that run under several locks together.

use crate::{
    process::code,
    scene::{Scene, text},
};

/// Says in the file `$1` that it runs, and goes on until there is a file `go`.
fn until_go(file: &str) -> String {
    format!(
        "echo $TENURE_NAME $TENURE_TOKEN $TENURE_TOKEN_1 $TENURE_TOKEN_2 > {file}; \
         until [ -e go ]; do sleep 0.01; done"
    )
}

#[test]
fn several_locks_are_held_together_with_a_token_each() {
    let scene = Scene::new();
    let both = scene.start("--all b,a", &until_go("held"));
    let line = scene.line("held");
    let token = |name: &str| scene.show(name)["holders"][0]["token"].as_str().unwrap().to_owned();
    let (a, b) = (token("a"), token("b"));
    assert_eq!(line, format!("b,a {b},{a} {b} {a}"), "in the order that was given");
    for single in ["a", "b"] {
        assert_eq!(code(&scene.run(&format!("{single} --no-wait"), "true")), 124);
    }
    // Also where another one was free, and had to be given back.
    for names in ["c,b", "0,b", "0,b", "0,b", "0,b", "0,b"] {
        let refused = scene.run(&format!("--all {names} --no-wait -v"), "true");
        assert_eq!(code(&refused), 124);
        assert!(text(&refused.stderr).contains("lock \"b\""), "{}", text(&refused.stderr));
    }
    for free in ["0", "c"] {
        assert_eq!(scene.show(free)["holders"], serde_json::json!([]));
    }
    std::fs::write(scene.path("go"), "").unwrap();
    assert_eq!(code(&both.wait()), 0);
    assert_eq!(code(&scene.run("--all a,b,c --no-wait", "true")), 0);
}

#[test]
fn those_who_name_the_same_locks_in_other_orders_run_one_after_another() {
    let scene = Scene::new();
    std::fs::write(scene.path("count"), "0\n").unwrap();
    let add = "for n in 1 2 3; do read n < count; sleep 0.02; echo $((n + 1)) > count; done";
    let all: Vec<_> = ["a,b,c", "c,b,a", "b,a", "c,b"]
        .map(|names| scene.start(&format!("--all {names}"), add))
        .into();
    for one in all {
        assert_eq!(code(&one.wait()), 0);
    }
    assert_eq!(scene.line("count"), "12");
}

#[test]
fn the_loss_of_one_lock_ends_the_command_and_frees_the_others() {
    let scene = Scene::new();
    let both = scene.start("--all a,b --ttl 9s", &until_go("held"));
    scene.line("held");
    assert_eq!(code(&scene.output(["break", "b", "--yes"])), 0);
    let ended = both.wait();
    let said = text(&ended.stderr);
    assert_eq!(code(&ended), 123, "{said}");
    assert!(said.contains(": b was "), "the one that was lost is named: {said}");
    assert_eq!(code(&scene.run("--all a,b --wait 10s", "true")), 0);
}

#[test]
fn each_of_several_locks_is_told_of() {
    let scene = Scene::new();
    let run = scene.run("--all a,b --json", "true");
    let events: Vec<serde_json::Value> =
        text(&run.stderr).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said: Vec<_> = events
        .iter()
        .skip(1)
        .map(|event| (event["event"].as_str().unwrap(), event["lock"].as_str().unwrap()))
        .collect();
    let expected = [
        ("acquired", "a"),
        ("acquired", "b"),
        ("ended", "a,b"),
        ("released", "a"),
        ("released", "b"),
    ];
    assert_eq!(said, expected);
}

#[test]
fn names_that_cannot_be_held_together_are_wrong_usage() {
    let scene = Scene::new();
    let many: Vec<_> = (0..65).map(|number| number.to_string()).collect();
    for (options, says) in [
        ("--all a,b name", "cannot be used with"),
        ("--all a,b --shared", "cannot be used with"),
        ("--all a,b --permits 2", "cannot be used with"),
        ("--all a,,b", "a lock's name cannot be empty"),
        (&format!("--all {}", many.join(",")), "give 1 to 64"),
        ("--no-wait", "required"),
    ] {
        let refused = scene.run(options, "true");
        assert_eq!(code(&refused), 2, "{options}");
        assert!(text(&refused.stderr).contains(says), "{options}: {}", text(&refused.stderr));
    }
}
