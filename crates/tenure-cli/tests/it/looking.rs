use std::process::Output;

use crate::{
    process::code,
    scene::{Scene, json, text},
};

#[test]
fn ls_lists_the_locks_in_use() {
    let scene = Scene::new();
    assert_eq!(json(&scene.output(["ls", "--json"]).stdout)["names"], serde_json::json!([]));
    let none = scene.output(["ls"]);
    assert_eq!((text(&none.stdout), text(&none.stderr)), ("", ""));
    let none = scene.output(["ls", "-v"]);
    let store = scene.store();
    assert_eq!(text(&none.stdout), "", "a script finds no lock");
    assert!(text(&none.stderr).contains(&format!("no lock is in use in {store}")));
    assert!(text(&scene.output(["ls", "a:", "-v"]).stderr).contains("no lock in use in"));
    let _one = scene.start("jobs:one --label alpha", "echo > one; exec sleep 1000");
    let _two = scene.start("other", "echo > two; exec sleep 1000");
    scene.line("one");
    scene.line("two");
    let all = scene.output(["ls"]);
    assert_eq!(code(&all), 0);
    let all = text(&all.stdout);
    assert!(all.contains("jobs:one") && all.contains("alpha") && all.contains("other"), "{all}");

    let some = json(&scene.output(["ls", "jobs:", "--json"]).stdout);
    assert_eq!(some["names"].as_array().unwrap().len(), 1);
    assert_eq!(some["names"][0]["name"], "jobs:one");
    let holder = &some["names"][0]["holders"][0];
    assert_eq!(holder["label"], "alpha");
    assert!(holder["left_ms"].as_u64().unwrap() <= 30_000);
    assert!(holder["token"].as_str().unwrap().parse::<u64>().is_ok());
    assert!(holder["since"].as_str().unwrap().ends_with('Z'));
}

#[test]
fn show_tells_of_holder_and_waiters() {
    let scene = Scene::new();
    let free = scene.output(["show", "name"]);
    assert_eq!((code(&free), text(&free.stdout)), (0, "name is free\n"));
    let _holder = scene.start("name --label alpha", "echo > held; exec sleep 1000");
    scene.line("held");
    let _waiter = scene.start("name --label beta", "true");
    scene.until_waiting("name", 1);
    let shown = scene.output(["show", "name"]);
    let shown = text(&shown.stdout);
    assert!(shown.contains("holder") && shown.contains("alpha"), "{shown}");
    assert!(shown.contains("waiter 1") && shown.contains("beta"), "{shown}");
    let shown = scene.show("name");
    assert_eq!(shown["holders"][0]["mode"], "exclusive");
    assert_eq!(shown["waiters"][0]["label"], "beta");
}

#[test]
fn a_hostile_label_cannot_act_on_the_terminal() {
    let scene = Scene::new();
    let mut command = scene.tenure(["run", "name", "--label", "x\u{1b}[2Jy", "--"]);
    command.args(["sh", "-c", "echo > held; exec sleep 1000"]);
    let _holder = crate::process::Running::start(&mut command);
    scene.line("held");
    for args in [&["show", "name"][..], &["ls"][..]] {
        let output = scene.output(args.iter().copied());
        assert!(!output.stdout.contains(&0x1b), "{}", text(&output.stdout));
        assert!(text(&output.stdout).contains("[2Jy"), "{}", text(&output.stdout));
    }
}

#[test]
fn break_without_a_terminal_wants_to_be_told_yes() {
    let scene = Scene::new();
    let _holder = scene.start("name --label alpha", "echo $TENURE_TOKEN > held; exec sleep 1000");
    let token = scene.line("held");
    let refused = scene.output(["break", "name"]);
    assert_eq!(code(&refused), 2);
    assert!(text(&refused.stderr).contains("--yes"), "{}", text(&refused.stderr));
    assert_eq!(scene.show("name")["holders"][0]["token"], token.as_str());

    let broken = scene.output(["break", "name", "--yes"]);
    assert_eq!(code(&broken), 0);
    let said = text(&broken.stdout);
    assert!(said.contains("alpha") && said.contains(&token) && said.contains("fenced"), "{said}");
}

#[test]
fn break_says_in_json_which_token_it_fences_off() {
    let scene = Scene::new();
    let _holder = scene.start("name", "echo $TENURE_TOKEN > held; exec sleep 1000");
    let token = scene.line("held");
    let broken = json(&scene.output(["break", "name", "--yes", "--json"]).stdout);
    assert_eq!(broken["evicted"][0]["token"], token.as_str());
    let again = scene.output(["break", "name", "--yes"]);
    assert_eq!((code(&again), text(&again.stdout)), (0, "name was already free\n"));
}

#[test]
fn break_takes_the_lock_from_the_hold_that_is_named_and_from_no_other() {
    let scene = Scene::new();
    let _holder = scene.start("name --label alpha", "echo $TENURE_TOKEN > held; exec sleep 1000");
    let token: u64 = scene.line("held").parse().unwrap();
    let other = (token - 1024).to_string();
    let id = scene.show("name")["holders"][0]["hold"].as_str().unwrap().to_owned();
    for named in [["--token", &other], ["--hold", "00000000deadbeef"]] {
        let left = scene.output(["break", "name", "--yes"].iter().chain(&named).copied());
        assert_eq!(code(&left), 1, "{named:?}");
        assert!(text(&left.stderr).contains("held by \"alpha\""), "{}", text(&left.stderr));
        assert_eq!(scene.show("name")["holders"][0]["hold"], id.as_str());
    }
    // A pass inside of a process changes the last bits of the token that its task knows.
    let passed = (token + 3).to_string();
    let broken = scene.output(["break", "name", "--yes", "--token", &passed, "--hold", &id]);
    assert_eq!(code(&broken), 0, "{}", text(&broken.stderr));
    let again = scene.output(["break", "name", "--yes", "--hold", &id]);
    assert_eq!((code(&again), text(&again.stdout)), (0, "name was already free\n"));
}

#[test]
fn break_takes_one_of_several_permits() {
    let scene = Scene::new();
    let stays = scene
        .start("name --permits 2 --label stays", "echo $TENURE_TOKEN > stays; exec sleep 1000");
    scene.line("stays");
    let _goes =
        scene.start("name --permits 2 --label goes", "echo $TENURE_TOKEN > goes; exec sleep 1000");
    let token = scene.line("goes");
    let broken =
        json(&scene.output(["break", "name", "--yes", "--token", &token, "--json"]).stdout);
    assert_eq!(broken["evicted"].as_array().unwrap().len(), 1);
    assert_eq!(broken["evicted"][0]["label"], "goes");
    assert_eq!(scene.show("name")["holders"][0]["label"], "stays");
    drop(stays);
}

#[test]
fn break_repairs_a_state_that_makes_no_sense() {
    let scene = Scene::new();
    let token = |output: &Output| text(&output.stdout).trim().parse::<u64>().unwrap();
    let before = token(&scene.run("name", "echo $TENURE_TOKEN"));
    scene.damage_the_only_state();
    let refused = scene.run("name --no-wait", "true");
    assert_eq!(code(&refused), 125);
    assert!(text(&refused.stderr).contains("tenure break"), "{}", text(&refused.stderr));
    let unasked = scene.output(["break", "name"]);
    assert_eq!(code(&unasked), 2, "{}", text(&unasked.stderr));

    let broken = scene.output(["break", "name", "--yes"]);
    assert_eq!(code(&broken), 0, "{}", text(&broken.stderr));
    assert!(text(&broken.stdout).contains("repaired"), "{}", text(&broken.stdout));
    let after = scene.run("name --no-wait", "echo $TENURE_TOKEN");
    assert_eq!(code(&after), 0, "{}", text(&after.stderr));
    assert!(token(&after) > before, "tokens still rise");
}

#[test]
fn doctor_says_where_the_state_is_and_which_promises_hold() {
    let scene = Scene::new();
    let seen = scene.output(["doctor"]);
    assert_eq!(code(&seen), 0, "{}", text(&seen.stdout));
    assert!(text(&seen.stdout).contains(scene.path("locks").to_str().unwrap()));
    let seen = json(&scene.output(["doctor", "--json"]).stdout);
    assert_eq!(seen["kind"], "file");
    assert!(!seen["diagnostics"].as_array().unwrap().is_empty());
}

#[test]
fn a_finished_command_leaves_nothing_of_its_own_in_the_store() {
    let scene = Scene::new();
    let all: [&[&str]; 8] = [
        &["run", "a", "--", "true"],
        &["run", "--all", "a,b", "--", "true"],
        &["run", "--shared", "a", "--", "true"],
        &["ls"],
        &["show", "a"],
        &["doctor"],
        &["export", "--names", "*", "--once"],
        &["bench", "--for", "10ms", "--rounds", "1", "--tasks", "1"],
    ];
    for command in all {
        for _ in 0..3 {
            let output = scene.output(command.iter().copied());
            assert!(output.status.success(), "{command:?}: {output:?}");
        }
        let boots = std::fs::read_dir(scene.path("locks/boots")).unwrap();
        let members = boots.map(|boot| boot.unwrap().path().join("members"));
        let left: Vec<_> = members.flat_map(|dir| std::fs::read_dir(dir).unwrap()).collect();
        assert!(left.is_empty(), "{command:?} left {left:?}");
    }
}
