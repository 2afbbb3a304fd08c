//! Running once per slot.

use nix::sys::signal::Signal;
use tenure_servers::RedisServer;

use serde_json::Value;

use crate::{
    process::code,
    scene::{Scene, events, eventually, json, text},
};

/// Each run writes a line, so that the lines are what was done.
const WORK: &str = "echo $TENURE_SLOT >> done";

/// Says in the file `$1` that it runs, and goes on until there is a file `go`.
fn until_go(file: &str) -> String {
    format!("echo $TENURE_SLOT > {file}; until [ -e go ]; do sleep 0.01; done")
}

fn runs(scene: &Scene) -> usize {
    std::fs::read_to_string(scene.path("done")).unwrap_or_default().lines().count()
}

#[test]
fn whoever_comes_later_in_a_slot_skips_it_without_a_word() {
    let scene = Scene::new();
    let first = scene.run("report --once-per 366d", WORK);
    assert_eq!(code(&first), 0, "{}", text(&first.stderr));
    for _ in 0..2 {
        let later = scene.run("report --once-per 366d", WORK);
        assert_eq!((code(&later), text(&later.stderr)), (122, ""));
    }
    assert_eq!(runs(&scene), 1);
    assert_eq!(code(&scene.run("report --once-per 366d --skipped-exit-code 0", WORK)), 0);
    assert_eq!(runs(&scene), 1);
    let told = scene.run("report --once-per 366d --json", WORK);
    let skipped =
        events(&told.stderr).into_iter().find(|event| event["event"] == "skipped").unwrap();
    assert_eq!((&skipped["reason"], &skipped["exit_code"]), (&"finished".into(), &122.into()));
    assert_eq!(skipped["slot"].as_str().unwrap(), scene.line("done"));
}

#[test]
fn a_command_that_fails_leaves_the_slot_open() {
    let scene = Scene::new();
    let slot = "report --slot-id 2026-11-28";
    assert_eq!(code(&scene.run(slot, "exit 3")), 3);
    assert_eq!(code(&scene.run(slot, WORK)), 0);
    assert_eq!(code(&scene.run(slot, WORK)), 122);
    assert_eq!(scene.line("done"), "2026-11-28");
    assert_eq!(code(&scene.run("report --slot-id 2026-11-29", WORK)), 0);
    assert_eq!(runs(&scene), 2);
}

#[test]
fn a_command_that_is_killed_leaves_the_slot_open_and_the_next_in_line_runs_it() {
    let scene = Scene::new();
    let slot = "report --slot-id x --ttl 9s";
    let first = scene.start(slot, &until_go("held"));
    scene.line("held");
    let second = scene.start(&format!("{slot} -v"), WORK);
    first.signal(Signal::SIGKILL);
    let ended = second.wait();
    assert_eq!(code(&ended), 0, "{}", text(&ended.stderr));
    assert!(text(&ended.stderr).contains("try 2"), "{}", text(&ended.stderr));
    assert_eq!(runs(&scene), 1);
}

#[test]
fn a_command_whose_lock_was_broken_marks_nothing() {
    let scene = Scene::new();
    let slot = "report --slot-id x";
    let broken = scene.start(&format!("{slot} --on-lost warn"), &until_go("held"));
    scene.line("held");
    assert_eq!(code(&scene.output(["break", "report", "--yes"])), 0);
    std::fs::write(scene.path("go"), "").unwrap();
    assert_eq!(code(&broken.wait()), 123);
    assert_eq!(code(&scene.run(slot, WORK)), 0);
    assert_eq!(runs(&scene), 1);
}

/// What succeeded while its lock was lost is not recorded, and that is no success.
#[test]
fn a_command_that_succeeds_after_it_lost_its_lock_says_that_its_slot_is_open() {
    let scene = Scene::new();
    let metrics = scene.path("run.prom");
    let options = format!("report --slot-id x --on-lost warn --metrics-file {}", metrics.display());
    let broken = scene.start(&options, &until_go("held"));
    scene.line("held");
    assert_eq!(code(&scene.output(["break", "report", "--yes"])), 0);
    std::fs::write(scene.path("go"), "").unwrap();
    let ended = broken.wait();
    assert_eq!(code(&ended), 123);
    assert!(text(&ended.stderr).contains("the slot x stays open"), "{}", text(&ended.stderr));
    let metrics = std::fs::read_to_string(metrics).unwrap();
    assert!(!metrics.contains("last_success"), "{metrics}");
}

/// systemd stops it in the middle, and it ends in order.
#[test]
fn a_command_that_was_told_to_end_leaves_its_slot_open() {
    let scene = Scene::new();
    let job = "trap 'exit 0' TERM; echo $TENURE_SLOT > held; while :; do sleep 0.01; done";
    let told = scene.start("report --slot-id x", job);
    scene.line("held");
    told.signal(Signal::SIGTERM);
    let ended = told.wait();
    assert_eq!(code(&ended), 143);
    assert!(text(&ended.stderr).contains("stays open"), "{}", text(&ended.stderr));
    assert_eq!(code(&scene.run("report --slot-id x", WORK)), 0);
}

#[test]
fn the_slot_of_a_command_around_is_not_that_of_one_within() {
    let scene = Scene::new();
    let mut within = scene.run_command("inner", "echo \"${TENURE_SLOT-none}\" > slot");
    assert_eq!(code(&within.env("TENURE_SLOT", "outer").output().unwrap()), 0);
    assert_eq!(scene.line("slot"), "none");
}

/// Another run of the slot begins when the lease ends: the first one must not exit as if the slot were marked.
#[test]
fn a_command_in_time_whose_slot_was_not_marked_in_time_exits_as_lost() {
    let scene = Scene::new();
    let slot = "report --slot-id x";
    let ends = format!("{}; echo ends > ends", until_go("held"));
    let first = scene.start(&format!("{slot} --ttl 4s"), &ends);
    scene.line("held");
    first.signal(Signal::SIGSTOP);
    std::fs::write(scene.path("go"), "").unwrap();
    scene.line("ends");
    let second = scene.start(slot, WORK);
    assert_eq!(code(&second.wait()), 0);
    first.signal(Signal::SIGCONT);
    let late = first.wait();
    assert_eq!(code(&late), 123, "{}", text(&late.stderr));
    assert_eq!(runs(&scene), 1);
}

#[test]
fn tries_are_bounded_and_a_mark_at_the_start_is_final() {
    let scene = Scene::new();
    for expected in [1, 1, 122] {
        assert_eq!(code(&scene.run("a --slot-id x --tries 2", "exit 1")), expected);
    }
    let missed = scene.run("a --slot-id x --tries 2", "true");
    let said = "tenure: a is not run, and no run has finished it: the slot x was tried 2 times, which are all\n";
    assert_eq!(text(&missed.stderr), said);
    assert_eq!(text(&scene.run("a --slot-id x --tries 2 -q", "true").stderr), "");
    assert_eq!(code(&scene.run("b --slot-id x --mark at-start", "exit 1")), 1);
    assert_eq!(code(&scene.run("b --slot-id x --mark at-start", WORK)), 122);
}

#[test]
fn two_schedules_for_one_lock_refuse_each_other_until_one_is_replaced() {
    let scene = Scene::new();
    assert_eq!(code(&scene.run("report --once-per 1d", WORK)), 0);
    let other = scene.run("report --slot @daily --tz Europe/Berlin", WORK);
    let said = text(&other.stderr);
    assert_eq!(code(&other), 125, "{said}");
    assert!(said.contains("another schedule") && said.contains("report"), "{said}");
    let replaced = "report --slot @daily --tz Europe/Berlin --replace-schedule";
    assert_eq!(code(&scene.run(replaced, WORK)), 0);
    assert_eq!(code(&scene.run(replaced, WORK)), 122);
}

#[test]
fn with_no_wait_a_slot_that_runs_is_busy() {
    let scene = Scene::new();
    let first = scene.start("report --slot-id x", &until_go("held"));
    scene.line("held");
    assert_eq!(code(&scene.run("report --slot-id x --no-wait", WORK)), 124);
    std::fs::write(scene.path("go"), "").unwrap();
    assert_eq!(code(&first.wait()), 0);
    assert_eq!(code(&scene.run("report --slot-id x --no-wait", WORK)), 122);
}

/// The slot ends while its run goes on: the run of the next one skips, waits, or takes its place.
#[test]
fn a_run_that_lasts_into_the_next_slot_is_left_alone_or_replaced() {
    let scene = Scene::new();
    let long = scene.start("report --once-per 2s", &until_go("held"));
    scene.line("held");
    eventually("the next slot skips", || {
        let later = scene.run("report --once-per 2s --json", WORK);
        let skipped = |event: &Value| event["event"] == "skipped" && event["lock"] == "report";
        events(&later.stderr).iter().any(skipped)
    });
    assert_eq!(runs(&scene), 0);
    let next = scene.run("report --once-per 2s --overlap replace --retry-within 2s", WORK);
    assert!([0, 122].contains(&code(&next)), "{}", text(&next.stderr));
    assert_eq!(code(&long.wait()), 123);
    eventually("a run of a later slot", || {
        runs(&scene) > 0 || code(&scene.run("report --once-per 2s", WORK)) == 0
    });
}

#[test]
fn what_is_no_slot_is_wrong_usage() {
    let scene = Scene::new();
    for (words, says) in [
        ("x --once-per 10ms", "1s"),
        ("x --slot daily", "0 3 * * *"),
        ("x --slot @daily --tz Mars/Olympus", "no time zone"),
        ("x --slot-id=", "1 to 64 bytes"),
        ("x --once-per 1d --slot-id y", "cannot be used with"),
        ("x --tries 3", "required"),
        ("x --once-per 1d --retry-within 0s", "retry_within of 0s is out of range"),
        ("x --once-per 1d --early 13h", "choose from 0s to 12h"),
        ("x --slot @daily --early 13h", "choose from 0s to 12h"),
        ("x --slot-id y --overlap replace", "no order"),
        ("--all a,b --once-per 1d", "cannot be used with"),
        ("x --shared --once-per 1d", "cannot be used with"),
    ] {
        let refused = scene.run(words, WORK);
        let said = text(&refused.stderr);
        assert_eq!(code(&refused), 2, "{words}: {said}");
        assert!(said.contains(says), "{words}: {said}");
    }
    let never = scene.output(["run", "x", "--slot", "0 3 31 2 *", "--", "true"]);
    let said = text(&never.stderr);
    assert_eq!((code(&never), said.contains("never occurs")), (2, true), "{said}");
    let busy = scene.run("x --once-per 1d --store memory:", WORK);
    assert_ne!(code(&busy), 0);
    assert_eq!(runs(&scene), 0);
}

#[test]
fn a_store_that_keeps_no_record_of_slots_is_wrong_usage() {
    let server = RedisServer::start();
    let scene = Scene::with_store(&format!("{}?layout=plain", server.url()));
    for words in ["x --once-per 1d", "x --slot @daily", "x --slot-id y"] {
        let refused = scene.run(words, WORK);
        assert_eq!(code(&refused), 2, "{words}: {}", text(&refused.stderr));
    }
}

#[test]
fn patterns_that_mean_the_same_are_one_schedule() {
    let scene = Scene::new();
    let run = |pattern| scene.output(["run", "x", "--slot", pattern, "--", "true"]);
    assert_eq!(code(&run("0 0 1 1 *")), 0);
    for same in ["@yearly", " 00  00 01 Jan * ", "0 0 1 jan ?"] {
        let skipped = run(same);
        assert_eq!(code(&skipped), 122, "{same:?}: {}", text(&skipped.stderr));
    }
    for other in ["0 0 2 1 *", "0 0 1 1 0-6", "0 0 1 1,7 *"] {
        let refused = run(other);
        assert_eq!(code(&refused), 125, "{other:?}: {}", text(&refused.stderr));
        assert!(text(&refused.stderr).contains("\"0 0 1 1 * UTC\""), "{}", text(&refused.stderr));
    }
}

#[test]
fn the_file_chooses_the_code_of_a_skipped_slot_and_a_flag_goes_first() {
    let scene = Scene::new();
    std::fs::create_dir_all(scene.path("config/tenure")).unwrap();
    let file = "[run]\nskipped-exit-code = 0\n";
    std::fs::write(scene.path("config/tenure/config.toml"), file).unwrap();
    for _ in 0..2 {
        assert_eq!(code(&scene.run("x --slot-id y", WORK)), 0);
    }
    assert_eq!(code(&scene.run("x --slot-id y --skipped-exit-code 80", WORK)), 80);
    assert_eq!(runs(&scene), 1);
}

#[test]
fn show_says_which_slot_is_finished_which_is_not_and_which_run_is_under_way() {
    let scene = Scene::new();
    let shown = || text(&scene.output(["show", "report"]).stdout).to_owned();
    assert_eq!(code(&scene.run("report --slot-id mon", "exit 1")), 1);
    assert_eq!(code(&scene.run("report --slot-id tue", WORK)), 0);
    let running = scene.start("report --slot-id mon", &until_go("held"));
    scene.line("held");
    let seen = scene.show("report");
    let (schedule, token) = (&seen["schedule"], &seen["holders"][0]["token"]);
    assert_eq!(
        (&schedule["text"], &schedule["finished"]["slot"]),
        (&"named".into(), &"tue".into())
    );
    assert!(schedule["finished"]["token"].is_string(), "{schedule}");
    assert_eq!(schedule["unfinished"], schedule["running"]);
    let run = &schedule["running"];
    assert_eq!((&run["slot"], &run["tries"], &run["token"]), (&"mon".into(), &2.into(), token));
    let said = shown();
    assert!(said.contains("the slot tue is finished, by the run with token "), "{said}");
    assert!(
        said.contains("the slot mon is not finished: 2 runs of it began, the one with "),
        "{said}"
    );
    std::fs::write(scene.path("go"), "").unwrap();
    assert_eq!(code(&running.wait()), 0);
    let seen = scene.show("report");
    assert_eq!(seen["schedule"]["finished"]["slot"], "mon");
    assert_eq!(
        (&seen["schedule"]["unfinished"], &seen["schedule"]["running"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(code(&scene.run("other", "true")), 0);
    assert_eq!(scene.show("other")["schedule"], Value::Null);
    // A record that cannot be read hides no lock.
    let inside = |dir| std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    for file in inside(scene.path("locks/slots")).flat_map(inside) {
        std::fs::write(file, "nonsense").unwrap();
    }
    let seen = scene.show("report");
    assert_eq!((&seen["name"], &seen["schedule"]), (&"report".into(), &Value::Null));
    assert_ne!(code(&scene.run("report --slot-id mon", WORK)), 122, "it cannot be read");
    assert_eq!(code(&scene.run("daily --once-per 366d", WORK)), 0);
    let seen = scene.show("daily");
    assert_eq!(seen["schedule"]["text"], "every 366d");
    let begins = seen["schedule"]["finished"]["slot"].as_str().unwrap();
    assert!(std::fs::read_to_string(scene.path("done")).unwrap().contains(begins), "{begins}");
}

/// Another host has used up the tries, and its run goes on: nothing is wrong yet.
#[test]
fn a_slot_whose_last_try_is_under_way_is_skipped_without_a_word() {
    let scene = Scene::new();
    let last = scene.start("report --slot-id x --tries 1", &until_go("held"));
    scene.line("held");
    let later = scene.run("report --slot-id x --tries 1", WORK);
    assert_eq!((code(&later), text(&later.stderr)), (122, ""));
    let later = scene.run("report --slot-id x --tries 1 --json", WORK);
    let skipped = events(&later.stderr).into_iter().find(|it| it["event"] == "skipped").unwrap();
    assert_eq!((&skipped["reason"], &skipped["missed"]), (&"tries_spent".into(), &false.into()));
    std::fs::write(scene.path("go"), "").unwrap();
    assert_eq!(code(&last.wait()), 0);
}

#[test]
fn a_slot_that_no_host_runs_any_more_is_told_of() {
    let scene = Scene::new();
    let late = scene.run("report --once-per 366d --retry-within 1s", WORK);
    assert_eq!(code(&late), 122);
    let said = text(&late.stderr);
    assert!(said.contains("is not run") && said.contains("began too long ago"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    let told = scene.run("report --once-per 366d --retry-within 1s --json", WORK);
    let skipped = events(&told.stderr).into_iter().find(|it| it["event"] == "skipped").unwrap();
    assert_eq!((&skipped["reason"], &skipped["missed"]), (&"too_late".into(), &true.into()));
    assert_eq!(code(&scene.run("report --once-per 366d", WORK)), 0);
    let late = scene.run("report --once-per 366d --retry-within 1s", WORK);
    assert_eq!((code(&late), text(&late.stderr)), (122, ""), "it is finished");
}

#[test]
fn a_summary_names_the_slot_and_what_became_of_it() {
    let scene = Scene::new();
    let summary = |options: &str, script: &str| {
        let done = scene.run(&format!("report --slot-id x --summary {options}"), script);
        text(&done.stderr).lines().last().unwrap().to_owned()
    };
    let said = summary("", "exit 3");
    assert!(
        said.contains(", exit code 3, token ") && said.ends_with(", slot x not finished"),
        "{said}"
    );
    let said = summary("", "true");
    assert!(said.ends_with(", slot x finished"), "{said}");
    let skipped =
        "tenure: report: not acquired, exit code 122, slot x skipped, as it was finished already";
    assert_eq!(summary("", "true"), skipped);
    let told = scene.run("report --slot-id x --summary --json", "true");
    let told = events(&told.stderr).into_iter().find(|it| it["event"] == "summary").unwrap();
    assert_eq!((&told["slot"], &told["outcome"]), (&"x".into(), &"skipped_finished".into()));
    let told = scene.run("other --summary --json", "true");
    let told = events(&told.stderr).into_iter().find(|it| it["event"] == "summary").unwrap();
    assert_eq!((&told["slot"], &told["outcome"]), (&Value::Null, &Value::Null));
    let marked = scene.run("b --slot-id x --mark at-start --summary", "exit 1");
    assert!(text(&marked.stderr).ends_with(", slot x finished\n"), "it is not run again");
}

#[test]
fn a_run_that_comes_early_says_that_it_waits_for_its_slot() {
    let scene = Scene::new();
    let early = |options: &str| {
        let mut said = None;
        eventually("a start that is early", || {
            let done = scene.run(&format!("report --once-per 2s --early 1s {options}"), WORK);
            let told = text(&done.stderr).to_owned();
            let waits = told.contains("waiting_for_slot") || told.contains("waiting for the slot");
            said = waits.then_some(told);
            said.is_some()
        });
        said.unwrap()
    };
    let told = events(early("--json").as_bytes());
    let waits = told.iter().find(|event| event["event"] == "waiting_for_slot").unwrap();
    assert!((1..=1_000).contains(&waits["begins_in_ms"].as_u64().unwrap()), "{waits}");
    let ends = told
        .iter()
        .find(|event| ["slot_begins", "skipped"].iter().any(|known| event["event"] == *known));
    assert_eq!((&waits["lock"], &waits["slot"]), (&"report".into(), &ends.unwrap()["slot"]));
    assert!(early("-v").contains("tenure: waiting for the slot "), "with -v");
}

#[test]
fn the_history_names_the_slot_and_the_try() {
    let scene = Scene::new();
    assert_eq!(code(&scene.run("report --slot-id x --history", "exit 3")), 3);
    assert_eq!(code(&scene.run("report --slot-id x --history", WORK)), 0);
    assert_eq!(code(&scene.run("report --history", "true")), 0);
    let told = json(&scene.output(["history", "report", "--json"]).stdout);
    let told: Vec<_> = told["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["slot"].clone(), entry["try"].clone(), entry["exit_code"].clone()))
        .collect();
    let expected = [
        (Value::Null, Value::Null, 0.into()),
        ("x".into(), 2.into(), 0.into()),
        ("x".into(), 1.into(), 3.into()),
    ];
    assert_eq!(told, expected);
    let table = scene.output(["history", "report"]);
    assert!(text(&table.stdout).contains("x, try 2"), "{}", text(&table.stdout));
}

#[test]
fn a_run_that_is_replaced_is_told_by_which_slot_and_where() {
    let scene = Scene::new();
    let long = scene.start("report --once-per 2s --history", &until_go("held"));
    let slot = scene.line("held");
    let replaces = "report --once-per 2s --overlap replace --history";
    eventually("the next slot runs", || code(&scene.run(replaces, WORK)) == 0);
    let ended = long.wait();
    assert_eq!(code(&ended), 123);
    let said = text(&ended.stderr);
    assert!(
        said.contains("report was broken by ")
            && said.contains("replaced by the run of the slot 20"),
        "{said}"
    );
    let told = json(&scene.output(["history", "report", "--json"]).stdout);
    let broken = told["entries"]
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["slot"] == slot.as_str())
        .unwrap();
    assert_eq!(broken["ended"], "broken");
    let by = broken["broken_by"]["reason"].as_str().unwrap();
    assert!(by.starts_with("replaced by the run of the slot 20"), "{by}");
    assert!(by.ends_with(broken["broken_by"]["host"].as_str().unwrap()), "{by}");
}
