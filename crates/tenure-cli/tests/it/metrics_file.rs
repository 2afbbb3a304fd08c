//! What a run leaves for monitoring: metrics in a file, and a line for a log.

use std::fs;

use nix::sys::signal::Signal;

use crate::{
    process::code,
    scene::{Scene, events, eventually, text},
};

/// The value of `tenure_run_NAME` of the lock `nightly`.
fn value(scene: &Scene, name: &str) -> Option<f64> {
    let text = fs::read_to_string(scene.path("jobs.prom")).ok()?;
    let begin = format!("tenure_run_{name}{{lock=\"nightly\"}} ");
    Some(text.lines().find_map(|line| line.strip_prefix(&*begin))?.parse().unwrap())
}

#[test]
fn a_run_writes_its_start_and_its_end() {
    let scene = Scene::new();
    fs::write(scene.path("jobs.prom"), "# HELP up Up.\nup 1\n").unwrap();
    let shown = |name| value(&scene, name);
    let runs = scene.start(
        "nightly --metrics-file jobs.prom",
        "while [ ! -e go ]; do sleep 0.05; done; exit 3",
    );
    eventually("it runs", || shown("running") == Some(1.0));
    assert_eq!((shown("last_exit_code"), shown("last_end_timestamp_seconds")), (None, None));
    assert!(shown("last_token") > Some(0.0) && shown("last_wait_seconds") >= Some(0.0));
    fs::write(scene.path("go"), "\n").unwrap();
    let done = runs.wait();
    assert_eq!((code(&done), text(&done.stderr)), (3, ""));
    assert_eq!((shown("running"), shown("last_exit_code")), (Some(0.0), Some(3.0)));
    assert_eq!(shown("last_success_timestamp_seconds"), None);
    scene.run("nightly --metrics-file jobs.prom", "true");
    assert_eq!((shown("last_exit_code"), shown("last_lost")), (Some(0.0), Some(0.0)));
    assert_eq!(shown("last_success_timestamp_seconds"), shown("last_end_timestamp_seconds"));
    let written = fs::read_to_string(scene.path("jobs.prom")).unwrap();
    assert!(written.starts_with("# HELP up Up.\nup 1\n"), "{written}");
}

#[test]
fn a_busy_lock_and_an_interrupted_wait_are_attempts_and_not_runs() {
    let scene = Scene::new();
    scene.run("nightly --metrics-file jobs.prom", "true");
    let success = value(&scene, "last_success_timestamp_seconds");
    let _holder = scene.start("nightly", "echo > held; sleep 1000");
    scene.line("held");
    let busy = scene.run("nightly --no-wait --metrics-file jobs.prom", "true");
    assert_eq!((code(&busy), value(&scene, "last_attempt_exit_code")), (124, Some(124.0)));
    let waits = scene.start("nightly --metrics-file jobs.prom", "true");
    scene.until_waiting("nightly", 1);
    waits.signal(Signal::SIGTERM);
    waits.wait();
    assert_eq!(value(&scene, "last_attempt_exit_code"), Some(143.0));
    assert_eq!(value(&scene, "last_exit_code"), Some(0.0));
    assert_eq!(value(&scene, "last_success_timestamp_seconds"), success);
}

#[test]
fn a_broken_lock_shows_as_lost() {
    let scene = Scene::new();
    let runs = scene.start("nightly --metrics-file jobs.prom --summary", "echo > held; sleep 1000");
    scene.line("held");
    scene.output(["break", "nightly", "--yes"]);
    let done = runs.wait();
    assert_eq!(code(&done), 123);
    assert_eq!(
        (value(&scene, "last_lost"), value(&scene, "last_exit_code")),
        (Some(1.0), Some(123.0))
    );
    let said = text(&done.stderr);
    assert!(said.lines().last().unwrap().ends_with(", lost"), "{said}");
}

#[test]
fn a_file_that_cannot_be_is_refused_and_one_that_vanishes_costs_no_run() {
    let scene = Scene::new();
    let refused = scene.run("nightly --metrics-file missing/jobs.prom", "touch ran");
    assert_eq!(code(&refused), 2);
    assert!(text(&refused.stderr).contains("there can be no metrics in missing/jobs.prom"));
    assert!(!scene.path("ran").exists());
    fs::create_dir(scene.path("later")).unwrap();
    let done = scene.run("nightly --metrics-file later/jobs.prom", "rm -r later; exit 5");
    assert_eq!(code(&done), 5);
    assert_eq!(text(&done.stderr).matches("the metrics of this run are missing").count(), 1);
}

/// Another process keeps the file for as long as it likes.
#[test]
fn a_command_does_not_wait_for_its_metrics() {
    let scene = Scene::new();
    let file = fs::File::create(scene.path(".jobs.prom.lock")).unwrap();
    file.lock().unwrap();
    let script = "echo > began; until [ -e go ]; do sleep 0.05; done";
    let runs = scene.start("nightly --metrics-file jobs.prom", script);
    scene.line("began");
    assert!(!scene.path("jobs.prom").exists());
    file.unlock().unwrap();
    eventually("it is shown", || value(&scene, "running") == Some(1.0));
    fs::write(scene.path("go"), "\n").unwrap();
    let done = runs.wait();
    assert_eq!((code(&done), text(&done.stderr)), (0, ""));
    assert_eq!(value(&scene, "running"), Some(0.0));
}

#[test]
fn of_commands_under_one_name_at_once_the_last_to_start_is_shown() {
    let scene = Scene::new();
    let start = |name: &str, code: u8| {
        let script = format!("until [ -e {name}-ends ]; do sleep 0.02; done; exit {code}");
        scene.start("nightly --shared --metrics-file jobs.prom", &script)
    };
    let ends = |name: &str| fs::write(scene.path(&format!("{name}-ends")), "").unwrap();
    let written = || fs::read_to_string(scene.path("jobs.prom")).unwrap_or_default();
    let first = start("first", 3);
    eventually("the first one runs", || value(&scene, "running") == Some(1.0));
    let before = value(&scene, "last_start_timestamp_seconds");
    let second = start("second", 4);
    eventually("the second one runs", || value(&scene, "last_start_timestamp_seconds") > before);
    let shown = written();
    ends("first");
    assert_eq!(code(&first.wait()), 3);
    assert_eq!(written(), shown);
    ends("second");
    assert_eq!(code(&second.wait()), 4);
    assert_eq!((value(&scene, "running"), value(&scene, "last_exit_code")), (Some(0.0), Some(4.0)));
}

#[test]
fn a_summary_is_one_line_also_of_what_did_not_run() {
    let scene = Scene::new();
    let done = scene.run("nightly --summary", "exit 4");
    let said = text(&done.stderr);
    assert!(said.starts_with("tenure: nightly: waited "), "{said}");
    assert!(said.contains(", ran ") && said.contains(", exit code 4, token "), "{said}");
    assert_eq!(said.lines().count(), 1);
    let _holder = scene.start("nightly", "echo > held; sleep 1000");
    scene.line("held");
    let busy = scene.run("nightly --no-wait --summary", "true");
    assert_eq!(text(&busy.stderr), "tenure: nightly: not acquired, exit code 124\n");
    let busy = scene.run("nightly --no-wait --summary --json", "true");
    let said = events(&busy.stderr);
    let summary = said.iter().find(|event| event["event"] == "summary").unwrap();
    assert_eq!(
        (&summary["exit_code"], &summary["waited_ms"]),
        (&124.into(), &serde_json::Value::Null)
    );
}

/// The outcomes of the last slot that are 1.
fn outcomes(scene: &Scene) -> Vec<String> {
    let text = fs::read_to_string(scene.path("jobs.prom")).unwrap();
    let begin = "tenure_run_last_slot_outcome{lock=\"nightly\",outcome=\"";
    let each = text.lines().filter_map(|line| line.strip_prefix(begin));
    each.filter_map(|rest| rest.strip_suffix("\"} 1")).map(str::to_owned).collect()
}

#[test]
fn a_run_once_per_slot_shows_its_slot_and_what_became_of_it() {
    let scene = Scene::new();
    let slot = "nightly --once-per 366d --metrics-file jobs.prom";
    let shown = |name| value(&scene, name);
    assert_eq!(code(&scene.run(slot, "exit 3")), 3);
    let began = shown("last_slot_timestamp_seconds");
    assert!(began > Some(1_700_000_000.0), "{began:?}");
    assert_eq!(outcomes(&scene), ["open"]);
    assert_eq!(shown("last_slot_finished_timestamp_seconds"), None);
    let late = format!("{slot} --tries 1");
    assert_eq!(code(&scene.run(&late, "true")), 122);
    assert_eq!(outcomes(&scene), ["skipped_tries_spent"]);
    assert_eq!(shown("last_slot_finished_timestamp_seconds"), None, "nobody ran it");
    assert_eq!(code(&scene.run("nightly --once-per 366d", "true")), 0, "another host");
    assert_eq!(code(&scene.run(slot, "true")), 122);
    assert_eq!(outcomes(&scene), ["skipped_finished"]);
    assert_eq!(shown("last_slot_finished_timestamp_seconds"), began);
    assert_eq!(
        (shown("last_attempt_exit_code"), shown("last_exit_code")),
        (Some(122.0), Some(3.0))
    );
    let text = fs::read_to_string(scene.path("jobs.prom")).unwrap();
    assert_eq!(text.matches("# TYPE tenure_run_last_slot_outcome gauge").count(), 1, "{text}");
    assert_eq!(
        code(&scene.run("nightly --slot-id x --replace-schedule --metrics-file jobs.prom", "true")),
        0
    );
    assert_eq!(outcomes(&scene), ["finished"]);
}

/// What a killed run leaves is what was written at its start.
#[test]
fn a_slot_is_shown_from_the_start_of_its_run_and_a_later_attempt_hides_no_end() {
    let scene = Scene::new();
    let slot = "nightly --once-per 366d --metrics-file jobs.prom";
    let running = scene.start(slot, "touch began; until [ -e go ]; do sleep 0.01; done");
    eventually("it runs", || scene.path("began").exists());
    let began = value(&scene, "last_slot_timestamp_seconds");
    assert!(began.is_some());
    assert_eq!(outcomes(&scene), ["open"]);
    assert_eq!(code(&scene.run(&format!("{slot} --no-wait"), "true")), 124);
    fs::write(scene.path("go"), "").unwrap();
    assert_eq!(code(&running.wait()), 0);
    assert_eq!(outcomes(&scene), ["finished"]);
    assert_eq!(value(&scene, "last_slot_finished_timestamp_seconds"), began);
}
