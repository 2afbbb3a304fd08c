use crate::{
    process::code,
    scene::{Scene, events, text},
};

#[test]
fn the_exit_code_is_the_commands_own() {
    let scene = Scene::new();
    for own in [0, 1, 7, 124, 255] {
        assert_eq!(code(&scene.run("name", &format!("exit {own}"))), own);
    }
}

#[test]
fn a_command_ended_by_a_signal_gives_128_and_its_number() {
    let scene = Scene::new();
    assert_eq!(code(&scene.run("name", "kill -9 $$")), 137);
    assert_eq!(code(&scene.run("name", "kill -15 $$")), 143);
}

#[test]
fn a_busy_lock_gives_124_or_what_was_asked_for() {
    let scene = Scene::new();
    let holder = scene.start("name --label somebody", "echo > held; sleep 1000");
    scene.line("held");
    let refused = scene.run("name --no-wait -v", "echo never");
    assert_eq!(code(&refused), 124);
    assert_eq!(text(&refused.stdout), "");
    assert!(text(&refused.stderr).contains("held by \"somebody"), "{}", text(&refused.stderr));
    assert_eq!(code(&scene.run("name --no-wait --busy-exit-code 75", "")), 75);
    assert_eq!(code(&scene.run("name --wait 0s", "")), 124);
    drop(holder);
}

#[test]
fn a_wait_that_ends_gives_124_and_leaves_nothing_in_the_queue() {
    let scene = Scene::new();
    let _holder = scene.start("name --label somebody", "echo > held; sleep 1000");
    scene.line("held");
    let late = scene.run("name --wait 100ms --json", "echo never");
    assert_eq!(code(&late), 124);
    let said = events(&late.stderr);
    assert_eq!(said.last().unwrap()["event"], "busy");
    assert_eq!(said.last().unwrap()["exit_code"], 124);
    assert_eq!(scene.show("name")["waiters"], serde_json::json!([]));
}

#[test]
fn a_command_that_is_not_there_gives_127_and_one_that_cannot_run_126() {
    let scene = Scene::new();
    for (command, expected) in [("no-such-command", 127), ("/etc/passwd", 126), ("/", 126)] {
        let output = scene.output(["run", "name", "--", command]);
        assert_eq!(code(&output), expected, "{command}");
        assert!(text(&output.stderr).contains(command));
    }
}

#[test]
fn wrong_usage_gives_2_and_a_reason() {
    let scene = Scene::new();
    let wrong: [&[&str]; 7] = [
        &["run", "name"],
        &["run", "--", "true"],
        &["run", "name", "--ttl", "soon", "--", "true"],
        &["run", "name", "--ttl", "1ms", "--", "true"],
        &["run", "name", "--ttl", "2s", "--grace", "1500ms", "--", "true"],
        &["run", "name", "--wait", "1s", "--no-wait", "--", "true"],
        &["nonsense"],
    ];
    for args in wrong {
        let output = scene.output(args.iter().copied());
        assert_eq!(code(&output), 2, "{args:?}");
        assert_eq!(text(&output.stdout), "", "{args:?}");
        assert!(!output.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn a_store_that_cannot_be_used_gives_125() {
    let scene = Scene::new();
    let output =
        scene.output(["run", "name", "--no-wait", "--store", "redis://127.0.0.1:1", "--", "true"]);
    assert_eq!(code(&output), 125);
    assert!(text(&output.stderr).contains("127.0.0.1:1"));
}

#[test]
fn a_lock_held_for_as_long_as_allowed_gives_123() {
    let scene = Scene::new();
    let output = scene.run("name --max-hold 400ms --json", "exec sleep 1000");
    assert_eq!(code(&output), 123);
    let said = events(&output.stderr);
    let lost = said.iter().find(|event| event["event"] == "lost").unwrap();
    assert_eq!(lost["reason"], "max_hold");
    assert_eq!(said.iter().filter(|event| event["event"] == "lost").count(), 1);
}

#[test]
fn a_lock_that_is_broken_ends_the_command_and_gives_123() {
    let scene = Scene::new();
    let script = "trap 'echo told' TERM; echo > held; while :; do sleep 0.02; done";
    let holder = scene.start("name --ttl 10s --json", script);
    scene.line("held");
    assert_eq!(code(&scene.output(["break", "name", "--yes"])), 0);
    let output = holder.wait();
    assert_eq!(code(&output), 123);
    assert_eq!(text(&output.stdout), "", "another may hold the lock: there is no grace");
    let said = events(&output.stderr);
    let lost = said.iter().find(|event| event["event"] == "lost").unwrap();
    assert_eq!(lost["reason"], "taken");
}

#[test]
fn with_a_warning_alone_the_command_of_a_lost_lock_runs_to_its_end_and_123_tells() {
    let scene = Scene::new();
    let options = "name --ttl 10s --on-lost warn --json";
    let holder =
        scene.start(options, "echo > held; until [ -e go ]; do sleep 0.02; done; echo done");
    scene.line("held");
    assert_eq!(code(&scene.output(["break", "name", "--yes"])), 0);
    // The next one gets in although the first still runs: that is what was asked for.
    assert_eq!(code(&scene.run("name", "exit 0")), 0);
    std::fs::write(scene.path("go"), "").unwrap();
    let output = holder.wait();
    assert_eq!(text(&output.stdout), "done\n");
    assert_eq!(code(&output), 123);
    assert!(events(&output.stderr).iter().any(|event| event["event"] == "lost"));
}

/// As a command that cannot be run, and a command line that cannot be read.
#[test]
fn whatever_ends_the_command_is_an_event_where_events_are_asked_for() {
    let scene = Scene::new();
    let refused = scene.output(["--json", "run", "name", "--", "no-such-command"]);
    assert_eq!(code(&refused), 127);
    let told = events(&refused.stderr);
    let why = told.iter().find(|event| event["event"] == "error").unwrap();
    assert_eq!((&why["kind"], &why["exit_code"]), (&"not_run".into(), &127.into()));
    assert!(told.iter().any(|event| event["event"] == "ended"), "{told:?}");
    let misread = scene.output(["run", "name", "--json", "--nosuch", "--", "true"]);
    assert_eq!(code(&misread), 2);
    let told = events(&misread.stderr);
    assert_eq!((&told[0]["event"], &told[0]["exit_code"]), (&"usage".into(), &2.into()));
    assert!(told[0]["message"].as_str().unwrap().contains("'--nosuch'"), "{told:?}");
}

#[test]
fn who_tries_once_hears_nothing_but_the_exit_code() {
    let scene = Scene::new();
    let _holder = scene.start("name --label somebody", "echo > held; exec sleep 1000");
    scene.line("held");
    let quiet = ["name --no-wait", "name --wait 0s", "name --no-wait --hold-at-least 10m"];
    for options in quiet.into_iter().chain(["name --no-wait --shared", "--all a,name --no-wait"]) {
        let refused = scene.run(options, "echo never");
        let said = (text(&refused.stdout), text(&refused.stderr));
        assert_eq!((code(&refused), said), (124, ("", "")), "{options}");
    }
    let locked = scene.output(["lock", "name", "--for", "1m", "--no-wait"]);
    assert_eq!((code(&locked), text(&locked.stderr)), (124, ""));
    let variable = scene.run_command("name", "true").env("TENURE_WAIT", "0s").output().unwrap();
    assert_eq!((code(&variable), text(&variable.stderr)), (124, ""));

    let loud = scene.run("name --no-wait -v", "true");
    assert!(text(&loud.stderr).contains("held by \"somebody"), "{}", text(&loud.stderr));
    let json = events(&scene.run("name --no-wait --json", "true").stderr);
    assert_eq!(json.last().unwrap()["event"], "busy");
    let waited = scene.run("name --wait 20ms", "true");
    assert!(text(&waited.stderr).contains("not free within"), "{}", text(&waited.stderr));
}

#[test]
fn show_tells_by_its_exit_code_whether_a_lock_is_held_if_it_is_asked_to() {
    let scene = Scene::new();
    let asked = |more: &[&str]| {
        let words = ["show", "name"].into_iter().chain(more.iter().copied());
        code(&scene.output(words))
    };
    assert_eq!((asked(&[]), asked(&["--exit-code"])), (0, 0));
    let holder = scene.start("name --shared", "echo > held; exec sleep 1000");
    scene.line("held");
    assert_eq!((asked(&[]), asked(&["--exit-code"]), asked(&["--exit-code", "--json"])), (0, 1, 1));
    drop(holder);
    assert_eq!(code(&scene.output(["show", "--exit-code", "a\nb"])), 2);
}

#[test]
fn what_a_kind_of_store_never_has_is_wrong_usage() {
    let scene = Scene::new();
    let member = |at: u32| format!("file:{}", scene.path(&at.to_string()).display());
    let quorum = Scene::with_store(&format!("quorum:{},{},{}", member(1), member(2), member(3)));
    for options in ["name --fair", "--all a,b --fair"] {
        let refused = quorum.run(options, "echo never");
        assert_eq!((code(&refused), text(&refused.stdout)), (2, ""), "{options}");
        assert!(text(&refused.stderr).contains("no queue"), "{}", text(&refused.stderr));
    }
}

#[test]
fn a_quorum_of_one_is_written_wrong() {
    let scene = Scene::with_store("quorum:redis://127.0.0.1:1");
    let refused = scene.run("name", "true");
    assert_eq!(code(&refused), 2);
    assert!(
        text(&refused.stderr).contains("1 named, and a quorum of fewer than 3"),
        "{}",
        text(&refused.stderr)
    );
}

#[test]
fn the_notes_of_a_quorum_are_not_listed_at_its_members() {
    let dirs = tempfile::tempdir().unwrap();
    let member = |at: u32| format!("file:{}/{at}", dirs.path().display());
    let quorum = Scene::with_store(&format!("quorum:{},{},{}", member(1), member(2), member(3)));
    let _holder = quorum.start("name", "echo > held; exec sleep 1000");
    quorum.line("held");
    let listed = Scene::with_store(&member(1)).output(["ls"]);
    let told = text(&listed.stdout);
    assert!(told.contains("name") && !told.contains("tenure:quorum"), "{told}");
    assert!(told.contains("member of a quorum"), "{told}");
}
