//! Figures of a store: what is told, and what is left behind. None of how fast anything is.

use std::{fs, process::Stdio};

use nix::sys::signal::Signal;
use tenure_servers::RedisServer;

use crate::{
    process::{Running, children, code, lives, send},
    scene::{Scene, eventually, json, text},
    screen::Screen,
};

const SENTINEL: &str = "s3ntinel-passw0rd";
/// Long enough for whatever is looked at meanwhile.
const LONG: [&str; 4] = ["--for", "60s", "--rounds", "100"];

/// The figures of a short run, and that nothing is held after it.
#[track_caller]
fn figures(scene: &Scene, words: &[&str]) -> serde_json::Value {
    let short = ["bench", "--json", "--for", "30ms", "--rounds", "2", "--tasks", "1,3"];
    let output = scene.output(short.iter().chain(words).copied());
    assert_eq!((code(&output), text(&output.stderr)), (0, ""));
    is_free(scene);
    json(&output.stdout)
}

/// That nothing is held, and nobody waits.
#[track_caller]
fn is_free(scene: &Scene) {
    let left = json(&scene.output(["ls", "--json"]).stdout);
    assert_eq!(left["names"], serde_json::json!([]));
}

#[track_caller]
fn has(figures: &serde_json::Value, keys: &[&str]) {
    for key in keys {
        assert!(figures[key].as_f64().is_some_and(|figure| figure > 0.0), "{key}: {figures}");
    }
}

/// That there is all of both works.
#[track_caller]
fn is_whole(figures: &serde_json::Value) {
    has(figures, &["cores"]);
    let pair = figures["pair"].as_array().unwrap();
    let tasks: Vec<_> = pair.iter().map(|of| of["tasks"].as_u64().unwrap()).collect();
    assert_eq!(tasks, [1, 3]);
    for of in pair {
        // At least one for each task in each round.
        assert!(of["count"].as_u64() >= Some(2 * of["tasks"].as_u64().unwrap()), "{of}");
        has(of, &["per_second", "per_second_min", "per_second_max", "p50_us", "p99_us", "max_us"]);
        has(of, &["client_cpu_us"]);
    }
    let handoff = &figures["handoff"];
    has(handoff, &["count", "p50_us", "p99_us", "max_us"]);
}

/// A measurement that goes on; its words are read.
fn start(scene: &Scene, words: &[&str]) -> Running {
    let mut command = scene.tenure(["bench"].iter().chain(&LONG).chain(words).copied());
    Running::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()))
}

/// The two processes that take turns, as soon as they are there.
fn players(bench: &Running) -> Vec<i32> {
    let mut players = Vec::new();
    eventually("two processes take turns", || {
        players = children(bench.pid());
        players.iter().filter(|pid| words_of(**pid).starts_with("lock-bench\0")).count() == 2
    });
    players
}

fn words_of(pid: i32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).into_owned()
}

/// Waits until a measurement holds something, which ends by itself soon.
fn until_held(scene: &Scene) {
    eventually("something is held", || {
        let all = json(&scene.output(["ls", "tenure-bench:", "--json"]).stdout);
        let names = all["names"].as_array().unwrap().iter();
        let holders: Vec<_> = names.flat_map(|name| name["holders"].as_array().unwrap()).collect();
        let left = holders.iter().map(|holder| holder["left_ms"].as_u64().unwrap());
        assert!(left.max() <= Some(10_000), "{all}");
        assert!(holders.iter().all(|it| it["label"].as_str().unwrap().ends_with(" bench")));
        !holders.is_empty()
    });
}

#[test]
fn both_works_have_their_figures_in_the_embedded_store() {
    let scene = Scene::new();
    let figures = figures(&scene, &[]);
    is_whole(&figures);
    assert_eq!(figures["kind"], "file");
    let place = scene.path("locks").display().to_string();
    assert!(figures["store"].as_str().unwrap().contains(&place), "{figures}");
}

#[test]
fn both_works_have_their_figures_on_redis() {
    let server = RedisServer::start();
    let figures = figures(&Scene::with_store(&server.url()), &[]);
    is_whole(&figures);
    assert_eq!(figures["kind"], "redis");
}

#[test]
fn both_works_have_their_figures_on_a_quorum() {
    let scene = Scene::new();
    let member = |name: &str| format!("file:{}", scene.path(name).display());
    let url = format!("quorum:{},{},{}", member("a"), member("b"), member("c"));
    is_whole(&figures(&Scene::with_store(&url), &[]));
}

#[test]
fn only_what_is_asked_for_is_measured_and_each_number_of_tasks_once() {
    let scene = Scene::new();
    let pair = figures(&scene, &["pair"]);
    assert!(pair["pair"].is_array() && pair.get("handoff").is_none(), "{pair}");
    let handoff = figures(&scene, &["handoff"]);
    assert!(handoff["handoff"].is_object() && handoff.get("pair").is_none(), "{handoff}");
    let words = ["bench", "pair", "pair", "--tasks", "2,2,1,2", "--for", "10ms", "--rounds", "1"];
    let twice = json(&scene.output(words.into_iter().chain(["--json"])).stdout);
    let tasks: Vec<_> = twice["pair"].as_array().unwrap().iter().map(|of| &of["tasks"]).collect();
    assert_eq!(tasks, [2, 1]);
}

#[test]
fn what_the_configuration_says_of_locks_is_not_measured() {
    let scene = Scene::new();
    fs::create_dir_all(scene.path("config/tenure")).unwrap();
    let file = scene.path("config/tenure/config.toml");
    let store = scene.store();
    let text = format!("hold-at-least = '1h'\nstore = 'ours'\n[stores]\nours = '{store}'\n");
    fs::write(file, text).unwrap();
    // The store has its name from the file, and the processes that take turns find it all the same.
    for words in [&[][..], &["--store", "ours"]] {
        let short = ["bench", "--json", "--for", "10ms", "--rounds", "1", "--tasks", "1"];
        let mut command = scene.tenure(short.iter().chain(words).copied());
        let output = command.env_remove("TENURE_STORE").output().unwrap();
        assert_eq!(code(&output), 0, "{output:?}");
        has(&json(&output.stdout)["handoff"], &["count"]);
        is_free(&scene);
    }
}

#[test]
fn people_get_a_table_on_standard_output_and_nothing_else() {
    let scene = Scene::new();
    let output = scene.output(["bench", "--for", "10ms", "--rounds", "1", "--tasks", "2"]);
    assert_eq!((code(&output), text(&output.stderr)), (0, ""));
    let said = text(&output.stdout);
    let place = scene.path("locks").display().to_string();
    assert!(said.lines().next().unwrap().contains(&place), "{said}");
    for words in ["PER SECOND", "P99 µs", "CPU µs", "HAND-OFF", "compare"] {
        assert_eq!(said.matches(words).count(), if words == "P99 µs" { 2 } else { 1 }, "{said}");
    }
}

#[test]
fn who_watches_a_terminal_sees_how_far_it_is() {
    let scene = Scene::new();
    let mut screen = Screen::new(&scene);
    screen.types("$T bench --for 10ms --rounds 2 --tasks 1 2> /dev/null; echo > quiet\n");
    scene.line("quiet");
    screen.types("$T bench --for 600ms --rounds 2 --tasks 1 > table; echo > done\n");
    scene.line("done");
    let shown = screen.ends();
    assert!(shown.contains("pair") && shown.contains("round 2 of 2"), "{shown}");
    assert!(shown.contains("handoff: round"), "{shown}");
    let table = fs::read_to_string(scene.path("table")).unwrap();
    assert!(table.contains("PER SECOND") && !table.contains("round"), "{table}");
    let mut screen = Screen::new(&scene);
    for voice in ["-q", "--json"] {
        screen.types(&format!(
            "$T bench --for 600ms --rounds 1 --tasks 1 {voice}; echo > ./{voice}.end\n"
        ));
        scene.line(&format!("{voice}.end"));
    }
    let shown = screen.ends();
    assert!(shown.contains("PER SECOND") && shown.contains("per_second"), "{shown}");
    assert!(!shown.contains("round 1"), "{shown}");
}

#[test]
fn a_password_shows_nowhere() {
    let server = RedisServer::with(&["--save", "", "--requirepass", SENTINEL]);
    let scene = Scene::with_store(&format!("redis://:{SENTINEL}@{}", server.address()));
    let bench = start(&scene, &["handoff", "-vvv"]);
    let players = players(&bench);
    until_held(&scene);
    for pid in players.into_iter().chain([bench.pid()]) {
        assert!(!words_of(pid).contains(SENTINEL), "{}", words_of(pid));
    }
    bench.signal(Signal::SIGINT);
    let output = bench.wait();
    assert!(text(&output.stderr).contains(&server.address().to_string()), "{output:?}");
    for voice in ["-q", "-vvv", "--json"] {
        let words = ["bench", "--for", "10ms", "--rounds", "1", "--tasks", "1", voice];
        let output = scene.output(words);
        assert_eq!(code(&output), 0, "{output:?}");
        for stream in [&output.stdout, &output.stderr] {
            assert!(!text(stream).contains(SENTINEL), "{}", text(stream));
        }
        assert!(text(&output.stdout).contains(&server.address().to_string()), "{output:?}");
    }
}

#[test]
fn a_signal_ends_it_and_nothing_stays_held() {
    let server = RedisServer::start();
    for scene in [Scene::new(), Scene::with_store(&server.url())] {
        for (work, signal, number) in [
            ("pair", Signal::SIGINT, 130),
            ("handoff", Signal::SIGINT, 130),
            ("handoff", Signal::SIGTERM, 143),
        ] {
            let bench = start(&scene, &[work]);
            until_held(&scene);
            let players = if work == "handoff" { players(&bench) } else { Vec::new() };
            bench.signal(signal);
            let output = bench.wait();
            assert_eq!((code(&output), text(&output.stdout)), (number, ""), "{work} {signal}");
            let said = text(&output.stderr);
            assert!(said.contains("interrupted while measuring"), "{said}");
            is_free(&scene);
            assert!(!players.iter().any(|pid| lives(*pid)), "{work} {signal}");
        }
    }
}

#[test]
fn who_takes_turns_ends_and_releases_when_the_one_that_started_it_is_gone() {
    let server = RedisServer::start();
    for scene in [Scene::new(), Scene::with_store(&server.url())] {
        let bench = start(&scene, &["handoff"]);
        let players = players(&bench);
        until_held(&scene);
        // What a terminal sends to all of them is for the one that started them.
        players.iter().for_each(|pid| send(*pid, Signal::SIGINT));
        drop(bench);
        eventually("they are gone", || !players.iter().any(|pid| lives(*pid)));
        is_free(&scene);
    }
}

#[test]
fn one_that_takes_turns_and_dies_is_told_of() {
    let scene = Scene::new();
    for (dying, other) in [(0, 1), (1, 0)] {
        let bench = start(&scene, &["handoff"]);
        let players = players(&bench);
        until_held(&scene);
        send(players[dying], Signal::SIGKILL);
        // Not only when the other one's round is over.
        eventually("it is told", || !lives(bench.pid()));
        let output = bench.wait();
        assert_eq!((code(&output), text(&output.stdout)), (125, ""));
        let said = text(&output.stderr);
        assert!(
            said.contains("of the handoff ended early") && said.contains("signal: 9"),
            "{said}"
        );
        assert!(!lives(players[other]));
        is_free(&scene);
    }
}

#[test]
fn a_failure_of_one_that_takes_turns_is_told_in_its_words() {
    let scene = Scene::new();
    let bench = start(&scene, &["handoff", "--json"]);
    until_held(&scene);
    let all = json(&scene.output(["ls", "tenure-bench:", "--json"]).stdout);
    let name = all["names"][0]["name"].as_str().unwrap().to_owned();
    eventually("it is broken", || {
        let _ = scene.output(["break", &name, "--yes"]);
        !lives(bench.pid())
    });
    let output = bench.wait();
    assert_eq!(code(&output), 125);
    let said = json(text(&output.stderr).lines().last().unwrap().as_bytes());
    assert_eq!(said["message"], "a process of the handoff failed");
    assert!(said["causes"][0].as_str().unwrap().contains("lost"), "{said}");
}

#[test]
fn wrong_words_are_refused() {
    let scene = Scene::new();
    for (words, says) in [
        ("nonsense", "pair, handoff"),
        ("--tasks 0", "1..=4096"),
        ("--tasks 4097", "1..=4096"),
        ("--tasks 1,,2", "--tasks"),
        ("--for 2", "write 2s for seconds"),
        ("--for 9ms", "choose from 10ms to 60s"),
        ("--for 61s", "choose from 10ms to 60s"),
        ("--rounds 0", "1..=100"),
        ("--rounds 101", "1..=100"),
    ] {
        let refused = scene.output(["bench"].into_iter().chain(words.split(' ')));
        let said = text(&refused.stderr);
        assert_eq!((code(&refused), text(&refused.stdout)), (2, ""), "{words}: {said}");
        assert!(said.contains(says), "{words}: {said}");
    }
}

#[test]
fn a_store_that_cannot_be_reached_is_told() {
    let scene = Scene::with_store("redis://127.0.0.1:1");
    for work in ["pair", "handoff"] {
        let failed = scene.output(["bench", work]);
        assert_eq!((code(&failed), text(&failed.stdout)), (125, ""));
        assert!(text(&failed.stderr).contains("127.0.0.1:1"), "{}", text(&failed.stderr));
    }
}
