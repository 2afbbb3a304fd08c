//! Exit codes of one's own choice, so that tools above and below tenure stay apart from it.

use std::{fs, process::Output};

use nix::sys::signal::Signal;

use crate::{
    detached::lock,
    process::{code, program, send},
    scene::{Scene, events, text},
};

const AWAY: &str = "redis://127.0.0.1:1";

fn last_code(output: &Output) -> u64 {
    events(&output.stderr).last().unwrap()["exit_code"].as_u64().unwrap()
}

#[test]
fn a_lost_lock_gives_the_code_that_was_chosen() {
    let scene = Scene::new();
    let lost = scene.run("name --max-hold 300ms --lost-exit-code 80 --json", "exec sleep 1000");
    let said = events(&lost.stderr);
    let ended = said.iter().find(|event| event["event"] == "ended").unwrap();
    assert_eq!((code(&lost), &ended["exit_code"]), (80, &80.into()), "{said:?}");
    let warned = scene.run(
        "name --max-hold 300ms --on-lost warn --lost-exit-code 80",
        "until $0 show name | grep -q free; do :; done"
            .replace("$0", env!("CARGO_BIN_EXE_tenure"))
            .as_str(),
    );
    assert_eq!(code(&warned), 80, "{}", text(&warned.stderr));
    assert_eq!(code(&scene.run("name --lost-exit-code 80", "exit 123")), 123, "the command's own");
}

#[test]
fn a_failure_of_tenures_own_gives_the_code_that_was_chosen() {
    let scene = Scene::with_store(AWAY);
    for words in ["run name", "elect name", "lock name --for 1m"] {
        let all = words.split(' ').chain(["--failed-exit-code", "81", "--json", "--no-wait"]);
        let command: &[&str] = if words.starts_with("lock") { &[] } else { &["--", "true"] };
        let failed = scene.output(all.chain(command.iter().copied()));
        assert_eq!((code(&failed), last_code(&failed)), (81, 81), "{words}");
    }
}

#[test]
fn so_does_a_guardian_that_was_killed() {
    let scene = Scene::new();
    let running = scene.start("name --failed-exit-code 81", "echo > held; exec sleep 1000");
    scene.line("held");
    send(running.guardian(), Signal::SIGKILL);
    let output = running.wait();
    assert_eq!(code(&output), 81, "{}", text(&output.stderr));
}

#[test]
fn a_handle_that_is_worth_nothing_and_a_store_that_is_away_give_them_too() {
    let scene = Scene::new();
    let handle = lock(&scene, "--for 1m");
    assert_eq!(code(&scene.output(["break", "name", "--yes"])), 0);
    for subcommand in ["renew", "unlock", "run --attach"] {
        let words = subcommand.split(' ').chain(["--lost-exit-code", "80"]);
        let command: &[&str] = if subcommand.starts_with("run") { &["--", "true"] } else { &[] };
        let mut lost = scene.tenure(words.chain(command.iter().copied()));
        let lost = lost.env("TENURE_HANDLE", &handle).output().unwrap();
        assert_eq!(code(&lost), 80, "{subcommand}: {}", text(&lost.stderr));
    }
    for subcommand in ["renew", "unlock"] {
        let words = [subcommand, "--failed-exit-code", "81", "--store", AWAY];
        let failed = scene.tenure(words).env("TENURE_HANDLE", &handle).output().unwrap();
        assert_eq!(code(&failed), 81, "{subcommand}: {}", text(&failed.stderr));
    }
}

#[test]
fn the_file_chooses_codes_for_all_of_them_and_a_flag_goes_first() {
    let scene = Scene::new();
    let handle = lock(&scene, "--for 1m");
    assert_eq!(code(&scene.output(["break", "name", "--yes"])), 0);
    fs::create_dir_all(scene.path("config/tenure")).unwrap();
    let file = "[run]\nbusy-exit-code = 90\nlost-exit-code = 90\nfailed-exit-code = 91\n";
    fs::write(scene.path("config/tenure/config.toml"), file).unwrap();
    let loss = "name --max-hold 300ms";
    assert_eq!(code(&scene.run(loss, "exec sleep 1000")), 90);
    let flag = scene.run(&format!("{loss} --lost-exit-code 80"), "exec sleep 1000");
    assert_eq!(code(&flag), 80);
    let lost = scene.tenure(["unlock"]).env("TENURE_HANDLE", &handle).output().unwrap();
    assert_eq!(code(&lost), 90, "two may be the same: {}", text(&lost.stderr));
    let away = |words: &[&str]| {
        code(&scene.output(words.iter().copied().chain([
            "--no-wait",
            "--store",
            AWAY,
            "--",
            "true",
        ])))
    };
    assert_eq!(away(&["run", "name"]), 91);
    assert_eq!(away(&["elect", "name", "--failed-exit-code", "81"]), 81);
}

#[test]
fn no_failure_can_be_chosen_to_look_like_success() {
    let scene = Scene::new();
    for option in ["--lost-exit-code", "--failed-exit-code"] {
        for number in ["0", "256"] {
            let refused = scene.output(["run", "name", option, number, "--", "true"]);
            assert_eq!(code(&refused), 2, "{option} {number}");
            assert!(text(&refused.stderr).contains(option), "{}", text(&refused.stderr));
        }
    }
}

#[test]
fn timeout_around_tenure_and_within_it_stay_apart_from_a_busy_lock() {
    let scene = Scene::new();
    let tenure = env!("CARGO_BIN_EXE_tenure");
    let around = |time: &str, words: &str, script: &str| {
        let mut command = program("timeout");
        command.args([time, tenure, "run", "name", "--busy-exit-code", "75"]);
        command.args(words.split_whitespace()).args(["--", "sh", "-c", script]);
        command.env("TENURE_STORE", scene.store()).env("XDG_CONFIG_HOME", scene.path("config"));
        code(&command.output().unwrap())
    };
    assert_eq!(
        around("1", "", "exec sleep 1000"),
        124,
        "timeout ended tenure, and that the command"
    );
    assert_eq!(scene.show("name")["holders"], serde_json::json!([]), "the lock was released");

    let within = scene.output([
        "run",
        "name",
        "--busy-exit-code",
        "75",
        "--",
        "timeout",
        "0.2",
        "sleep",
        "1000",
    ]);
    assert_eq!(code(&within), 124, "timeout ended the command under the lock");

    let _holder = scene.start("name", "echo > held; exec sleep 1000");
    scene.line("held");
    assert_eq!(around("60", "--no-wait", "true"), 75, "others had the lock");
    assert_eq!(around("0.3", "", "true"), 124, "timeout ended the wait");
    assert_eq!(
        scene.show("name")["waiters"],
        serde_json::json!([]),
        "no place in the queue is left"
    );
}
