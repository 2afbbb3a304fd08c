//! A password in a URL reaches the server and nothing else.

use std::{fs, process::Output};

use tenure_servers::RedisServer;

use crate::{
    process::code,
    scene::{Scene, text},
};

const SENTINEL: &str = "s3ntinel-passw0rd";

/// Every command, spoken loudly and in JSON.
const COMMANDS: [&[&str]; 8] = [
    &["run", "name", "--", "true"],
    &["run", "name", "--wait", "30s", "--", "true"],
    &["ls"],
    &["show", "name"],
    &["break", "name", "--yes"],
    &["doctor"],
    &["export", "--names", "*", "--once"],
    &["bench", "--for", "10ms", "--rounds", "1", "--tasks", "1"],
];

fn shows_nothing(output: &Output, what: &str) {
    for stream in [&output.stdout, &output.stderr] {
        assert!(!text(stream).contains(SENTINEL), "{what}: {}", text(stream));
    }
}

/// What a command said, to people and to programs.
fn said(output: &Output) -> String {
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

/// Runs every command in every voice; their exit codes are `expected`.
fn all(scene: &Scene, expected: i32) -> Vec<Output> {
    let mut outputs = Vec::new();
    for voice in [&[][..], &["-vvv"], &["--json"], &["--json", "-vvv"]] {
        for command in COMMANDS {
            let output = scene.output(voice.iter().chain(command).copied());
            let what = format!("{voice:?} {command:?}");
            // What leads to no store is what doctor looks for.
            let found = expected == 125 && command == ["doctor"];
            let expected = if found { 1 } else { expected };
            assert_eq!(code(&output), expected, "{what}: {}", text(&output.stderr));
            shows_nothing(&output, &what);
            outputs.push(output);
        }
    }
    outputs
}

#[test]
fn a_password_that_is_right_is_never_shown() {
    let server = RedisServer::with(&["--save", "", "--requirepass", SENTINEL]);
    let address = server.address();
    all(&Scene::with_store(&format!("redis://:{SENTINEL}@{address}")), 0);
    let socket = server.socket();
    all(&Scene::with_store(&format!("unix:{}?password={SENTINEL}", socket.display())), 0);
}

#[test]
fn a_password_that_is_wrong_is_an_error_at_once_and_never_shown() {
    let server = RedisServer::with(&["--save", "", "--requirepass", "right"]);
    let address = server.address();
    for credentials in [format!(":{SENTINEL}"), format!("me:{SENTINEL}")] {
        for output in all(&Scene::with_store(&format!("redis://{credentials}@{address}")), 125) {
            let said = said(&output);
            assert!(said.contains("refuses this user and password"), "{said}");
            assert!(said.contains(&address.to_string()), "it names the server: {said}");
        }
    }
    let none = Scene::with_store(&format!("redis://{address}"));
    for output in all(&none, 125) {
        assert!(said(&output).contains("wants a password"), "{}", said(&output));
    }
}

#[test]
fn a_password_in_a_url_that_makes_no_sense_is_never_shown() {
    for url in [
        format!("redis://:{SENTINEL}@"),
        format!("redis://:{SENTINEL}@host:port"),
        format!("redis://:{SENTINEL}@host/database"),
        format!("redis://:{SENTINEL}@host?prefix={{"),
        format!("redis:/:{SENTINEL}@host"),
        format!("redis://:%ff{SENTINEL}@host"),
        format!("redis://:x@{SENTINEL}@127.0.0.1:1"),
        format!("redis://:x/{SENTINEL}@127.0.0.1:1"),
        format!("redis://:x?{SENTINEL}@127.0.0.1:1"),
        format!("redsi://:{SENTINEL}@host"),
        format!("unix:relative?password={SENTINEL}"),
    ] {
        let scene = Scene::with_store(&url);
        for voice in ["-vvv", "--json"] {
            let output = scene.output(["ls", voice]);
            assert_eq!(code(&output), 2, "{url}: {}", text(&output.stderr));
            shows_nothing(&output, &url);
        }
        shows_nothing(&scene.output(["run", "--help"]), &url);
        shows_nothing(&scene.output(["--nonsense"]), &url);
    }
}

#[test]
fn a_password_in_a_url_that_stands_where_none_belongs_is_never_shown() {
    let scene = Scene::new();
    let url = format!("redis://me:{SENTINEL}@host");
    for words in [&["doctor", &url][..], &["run", "a", "--ttl", &url, "--", "true"], &[&url]] {
        let output = scene.output(words.iter().copied());
        assert!(said(&output).contains("redis://***@host"), "{words:?}: {}", said(&output));
        shows_nothing(&output, "a word");
    }
    let output = scene.tenure(["ls"]).env("TENURE_CONFIG", &url).output().unwrap();
    assert!(said(&output).contains("redis://***@host"), "{}", said(&output));
    shows_nothing(&output, "TENURE_CONFIG");
    let file = scene.path("config.toml");
    for line in [format!("ttl = \"{url}\""), format!("\"{url}\" = 1")] {
        fs::write(&file, line).unwrap();
        let output = scene.tenure(["ls"]).env("TENURE_CONFIG", &file).output().unwrap();
        assert_eq!(code(&output), 2, "{}", said(&output));
        shows_nothing(&output, "a configuration");
    }
}

#[test]
fn a_password_on_the_command_line_is_warned_of_and_the_command_need_not_have_it() {
    let server = RedisServer::with(&["--save", "", "--requirepass", SENTINEL]);
    let url = format!("redis://:{SENTINEL}@{}", server.address());
    let scene = Scene::with_store(&url);
    let warned = scene.output(["run", "a", "--store", &url, "--", "true"]);
    assert_eq!(code(&warned), 0);
    let said = text(&warned.stderr);
    assert!(said.contains("list of processes") && !said.contains(SENTINEL), "{said}");
    let quiet = scene.output(["run", "a", "-q", "--store", &url, "--", "true"]);
    assert_eq!((code(&quiet), text(&quiet.stderr)), (0, ""));
    for (words, has) in
        [("run b", true), ("run b --hide-store", false), ("elect c --hide-store", false)]
    {
        let printed = scene.output(words.split(' ').chain(["--", "printenv"]));
        assert_eq!(code(&printed), 0, "{}", text(&printed.stderr));
        assert_eq!(text(&printed.stdout).contains(SENTINEL), has, "{words}");
        assert!(text(&printed.stdout).contains("TENURE_TOKEN="), "{words}");
    }
}
