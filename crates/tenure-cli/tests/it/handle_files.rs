//! Files that handles are in, and files that are in their way.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, symlink},
    process::Output,
};

use nix::{sys::stat::Mode, unistd::mkfifo};

use crate::{
    detached::{lock, write},
    process::code,
    scene::{Scene, eventually, text},
};

fn refused(output: &Output, reason: &str) {
    let said = text(&output.stderr);
    assert_eq!((code(output), text(&output.stdout)), (2, ""), "{said}");
    assert!(said.contains(reason), "{reason}: {said}");
    assert!(!said.contains("tenure-handle:1"), "{said}");
}

fn chmod(scene: &Scene, file: &str, mode: u32) {
    fs::set_permissions(scene.path(file), Permissions::from_mode(mode)).unwrap();
}

/// Puts everything into the scene that is no good as the file of a handle.
fn bad_files(scene: &Scene, handle: &str) -> [(&'static str, &'static str); 9] {
    write(scene, "garbage", "s3ntinel\n");
    write(scene, "long", &"x".repeat(1 << 20));
    write(scene, "cut", &handle[..handle.len() - 4]);
    write(scene, "newer", "tenure-handle:2:file");
    write(scene, "readable", handle);
    chmod(scene, "readable", 0o640);
    write(scene, "writable", handle);
    chmod(scene, "writable", 0o602);
    write(scene, "good", handle);
    symlink(scene.path("good"), scene.path("link")).unwrap();
    fs::create_dir(scene.path("folder")).unwrap();
    mkfifo(&scene.path("pipe"), Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    [
        ("garbage", "garbage: this is not a handle"),
        ("long", "long: this is not a handle"),
        ("cut", "cut: this handle was cut or changed"),
        ("newer", "newer: this handle is of version \"2\""),
        ("readable", "chmod 600 readable"),
        ("writable", "chmod 600 writable"),
        ("link", "link is a symbolic link"),
        ("folder", "folder is not a regular file"),
        ("pipe", "pipe is not a regular file"),
    ]
}

#[test]
fn a_handle_is_read_from_a_file_of_ones_own_alone() {
    let scene = Scene::new();
    let handle = lock(&scene, "--for 10m");
    write(&scene, "empty", "\n");
    let missing = [("empty", "empty: the handle is empty"), ("nowhere", "nowhere does not exist")];
    for (file, reason) in bad_files(&scene, &handle).into_iter().chain(missing) {
        refused(&scene.output(["renew", "--handle", file]), reason);
        refused(&scene.output(["unlock", "--handle", file]), reason);
        refused(&scene.run(&format!("--attach --handle {file}"), "echo never"), reason);
    }
    assert_eq!(code(&scene.output(["unlock", "--handle", "good"])), 0);
}

#[test]
fn a_foreign_file_in_the_way_of_a_handle_stays_as_it_is() {
    let scene = Scene::new();
    let handle = lock(&scene, "--for 10m");
    write(&scene, "same", &handle);
    assert_eq!(code(&scene.output(["break", "name", "--yes"])), 0);
    let content = |file: &str| fs::symlink_metadata(scene.path(file)).unwrap().modified().unwrap();
    for (file, reason) in bad_files(&scene, &handle) {
        let before = content(file);
        refused(&scene.output(["lock", "name", "--for", "1m", "--handle", file]), reason);
        assert_eq!(content(file), before, "{file}");
    }
    let other = "holds a handle of another lock";
    refused(&scene.output(["lock", "other", "--for", "1m", "--handle", "same"]), other);
    let needed = "may still be needed";
    for kind in [&["--shared"][..], &["--permits", "2"]] {
        let args = ["lock", "name", "--for", "1m", "--handle", "same"];
        refused(&scene.output(args.into_iter().chain(kind.iter().copied())), needed);
    }
    refused(&scene.output(["lock", "name", "--for", "1m", "--handle", "no/where"]), "no/where");
    refused(&scene.output(["lock", "name", "--for", "1m", "--handle", "-"]), "./-");
    assert_eq!(fs::read_to_string(scene.path("same")).unwrap(), handle);
    for name in ["name", "other"] {
        assert_eq!(scene.show(name)["holders"], serde_json::json!([]), "nothing was taken");
    }
    write(&scene, "empty", "");
    for file in ["same", "empty"] {
        let args = ["lock", "name", "--for", "1m", "--handle", file];
        assert_eq!(code(&scene.output(args)), 0, "{file}");
        assert_eq!(code(&scene.output(["unlock", "--handle", file])), 0, "{file}");
    }
}

#[test]
fn a_handle_of_another_lock_than_the_named_is_wrong_usage_and_goes_on_working() {
    let scene = Scene::new();
    lock(&scene, "--for 10m --handle h");
    let reason = "of lock \"name\", not of \"other\"";
    refused(&scene.run("other --attach --handle h", "echo never"), reason);
    assert_eq!(code(&scene.run("name --attach --handle h", "true")), 0);
}

#[test]
fn options_that_make_no_sense_with_a_handle_are_wrong_usage() {
    let scene = Scene::new();
    lock(&scene, "--for 10m --handle h");
    for options in [
        "--all name,other",
        "--shared",
        "--permits 2",
        "--permits 2 --take 2",
        "--wait 1s",
        "--no-wait",
        "--busy-exit-code 75",
        "--fair",
        "--hold-at-least 1s",
        "--for 1ms",
    ] {
        let reason = if options.starts_with("--for") { "10ms to 24h" } else { "--attach" };
        refused(&scene.run(&format!("--attach --handle h {options}"), "echo never"), reason);
    }
    refused(&scene.run("name --handle h", "echo never"), "--attach");
    refused(&scene.run("name --for 1m", "echo never"), "--handle <FILE>");
    refused(&scene.run("--attach --for 1m", "echo never"), "--handle <FILE>");
    refused(&scene.run("--attach", "echo never"), "no handle is given");
    refused(
        &scene.run("--attach --handle -", "echo never"),
        "standard input belongs to the command",
    );
    refused(&scene.output(["lock", "name"]), "--for <TIME>");
    assert_eq!(code(&scene.run("--attach --handle h", "true")), 0);
}

#[test]
fn a_handle_that_cannot_be_written_in_the_end_releases_the_lock() {
    let foreign = lock(&Scene::new(), "--for 10m");
    for (script, reason) in [
        ("rm -r dir; exit 7".to_owned(), "cannot be written to dir/h"),
        (format!("echo {foreign} > dir/h"), "dir/h received another handle meanwhile"),
        ("rm dir/h; mkdir dir/h".to_owned(), "dir/h is not a regular file"),
    ] {
        let scene = Scene::new();
        fs::create_dir(scene.path("dir")).unwrap();
        lock(&scene, "--for 10m --handle dir/h");
        let step = scene.run("--attach --handle dir/h", &script);
        assert_eq!(code(&step), 125, "{script}");
        let said = text(&step.stderr);
        assert!(said.contains(reason) && said.contains("so the lock is released"), "{said}");
        eventually("the lock is free", || code(&scene.run("name --no-wait", "true")) == 0);
    }
}

#[test]
fn a_folder_that_takes_no_file_is_found_before_the_command_runs() {
    if nix::unistd::geteuid().is_root() {
        eprintln!("not shown: no folder refuses a file of root");
        return;
    }
    let scene = Scene::new();
    fs::create_dir(scene.path("dir")).unwrap();
    lock(&scene, "--for 10m --handle dir/h");
    chmod(&scene, "dir", 0o500);
    refused(&scene.run("--attach --handle dir/h", "echo never"), "cannot be written to dir/h");
    chmod(&scene, "dir", 0o700);
    assert_eq!(code(&scene.run("--attach --handle dir/h", "true")), 0);
}

#[test]
fn a_file_that_its_command_took_away_is_written_anew() {
    let scene = Scene::new();
    lock(&scene, "--for 10m --handle h");
    assert_eq!(code(&scene.run("--attach --handle h", "rm h")), 0);
    let mode = fs::metadata(scene.path("h")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(code(&scene.run("--attach --handle h", ": > h")), 0);
    assert_eq!(code(&scene.output(["unlock", "--handle", "h"])), 0);
}

#[test]
fn a_name_in_the_stead_of_a_handle_gets_a_hint() {
    let scene = Scene::new();
    for command in [&["unlock", "deploy"][..], &["renew", "deploy", "--for", "1m"]] {
        refused(&scene.output(command.iter().copied()), "tenure break NAME");
    }
}
