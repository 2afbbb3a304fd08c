//! A handle reaches its file or standard output, and nothing else.

use std::{fs, process::Output};

use crate::{
    detached::{lock, write},
    process::code,
    scene::{Scene, text},
};

/// What nobody may read: the owner that a handle proves.
fn secret(handle: &str) -> &str {
    handle.split(':').nth(6).unwrap()
}

#[track_caller]
fn shows_nothing(output: &Output, secret: &str) {
    for stream in [&output.stdout, &output.stderr] {
        assert!(!text(stream).contains(secret), "{}", text(stream));
    }
}

#[test]
fn no_command_shows_a_handle_that_is_in_a_file() {
    let scene = Scene::new();
    for voice in [&[][..], &["-vvv"], &["--json"], &["--json", "-vvv"]] {
        let mut outputs = Vec::new();
        let mut secrets = Vec::new();
        let mut all = |args: &[&str]| {
            let output = scene.output(args.iter().chain(voice).copied());
            assert_eq!(code(&output), 0, "{args:?}: {}", text(&output.stderr));
            outputs.push(output);
            if let Ok(handle) = fs::read_to_string(scene.path("h")) {
                secrets.push(secret(&handle).to_owned());
            }
        };
        all(&["lock", "name", "--for", "10m", "--handle", "h"]);
        all(&["show", "name"]);
        all(&["renew", "--handle", "h"]);
        let step = ["run", "--attach", "--handle", "h"];
        let look = "cat /proc/[0-9]*/cmdline /proc/$PPID/environ /proc/self/environ 2>&-; true";
        let command = ["--", "sh", "-c", look];
        let options = step.iter().chain(voice).chain(&command);
        let output = scene.output(options.copied());
        assert_eq!(code(&output), 0);
        let seen: Vec<_> = output.stdout.iter().map(|&byte| byte.max(b' ')).collect();
        assert!(String::from_utf8_lossy(&seen).contains("lock-guardian"));
        let stderr = text(&output.stderr).to_owned();
        all(&["ls"]);
        all(&["unlock", "--handle", "h"]);
        assert!(secrets.len() >= 4, "{secrets:?}");
        for secret in &secrets {
            assert!(!String::from_utf8_lossy(&seen).contains(secret), "other processes see it");
            assert!(!stderr.contains(secret), "{stderr}");
            outputs.iter().for_each(|output| shows_nothing(output, secret));
        }
    }
}

#[test]
fn a_handle_is_never_an_argument_and_not_repeated() {
    let scene = Scene::new();
    let handle = lock(&scene, "--for 10m");
    let equals = format!("--handle={handle}");
    let list = format!("other,{handle}");
    let wrong: [&[&str]; 12] = [
        &["unlock", &handle],
        &["unlock", "--handle", &handle],
        &["unlock", &equals],
        &["unlock", "--", &handle],
        &["renew", "--handle", &handle],
        &["renew", &handle, "--json"],
        &["run", &handle, "--", "echo", "never"],
        &["run", "--attach", &handle, "--", "echo", "never"],
        &["run", "--all", &list, "--", "echo", "never"],
        &["show", "--", &handle],
        &["lock", &handle, "--for", "1m"],
        &[&handle],
    ];
    for args in wrong {
        let output = scene.output(args.iter().copied());
        let what = args.iter().map(|word| word.replace(&handle, "HANDLE")).collect::<Vec<_>>();
        assert_eq!((code(&output), text(&output.stdout)), (2, ""), "{what:?}");
        shows_nothing(&output, secret(&handle));
        assert!(text(&output.stderr).contains("on standard input"), "{}", text(&output.stderr));
    }
    let echoed = scene.output(["run", "other", "--", "echo", &handle]);
    assert_eq!(text(&echoed.stdout).trim(), handle, "a command's words are its own");
}

#[test]
fn a_handle_that_is_cut_is_not_shown_either() {
    let scene = Scene::new();
    let handle = lock(&scene, "--for 10m");
    let cut = &handle[..handle.len() - 2];
    write(&scene, "h", cut);
    for args in [&["unlock"][..], &["renew"], &["run", "--attach", "--", "echo", "never"]] {
        let variable = scene.tenure(args.iter().copied()).env("TENURE_HANDLE", cut).output();
        let args = args.iter().take(2).chain(&["--handle", "h"]).chain(args.iter().skip(2));
        for output in [variable.unwrap(), scene.output(args.copied())] {
            assert_eq!((code(&output), text(&output.stdout)), (2, ""), "{}", text(&output.stderr));
            shows_nothing(&output, secret(&handle));
        }
    }
}
