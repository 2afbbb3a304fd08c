//! Which store is meant, and what is refused because it would lock nothing or be misread.

use std::process::Output;

use crate::{
    process::code,
    scene::{Scene, text},
};

/// Every command that works on a store, and what chooses it.
const COMMANDS: [&[&str]; 11] = [
    &["run", "name", "--", "true"],
    &["run", "--all", "a,b", "--", "true"],
    &["elect", "name", "--", "true"],
    &["lock", "name", "--for", "1m"],
    &["ls"],
    &["show", "name"],
    &["break", "name", "--yes"],
    &["doctor"],
    &["export", "--names", "*"],
    &["export", "--names", "*", "--once"],
    &["bench"],
];

/// That it was wrong usage, and that the message says all of this.
#[track_caller]
fn is_refused(output: &Output, says: &[&str]) {
    let said = text(&output.stderr);
    assert_eq!((code(output), text(&output.stdout)), (2, ""), "{said}");
    for words in says {
        assert!(said.contains(words), "{words}: {said}");
    }
}

fn run_in(scene: &Scene, store: &str) -> Output {
    scene.output(["run", "name", "--no-wait", "--store", store, "--", "echo", "ran"])
}

/// It would mean a lock on this machine alone.
#[test]
fn an_empty_store_is_refused() {
    let scene = Scene::new();
    is_refused(&run_in(&scene, ""), &["--store: the store is empty", "write file:"]);
    let variable = scene.run_command("name", "echo ran").env("TENURE_STORE", "").output().unwrap();
    is_refused(&variable, &["the variable TENURE_STORE: the store is empty"]);
}

#[test]
fn a_variable_that_is_nearly_the_stores_is_refused_where_nothing_chooses_one() {
    let scene = Scene::new();
    for slip in ["TENURE_STOER", "TENURE_REDIS_URL"] {
        let mut alone = scene.run_command("name", "echo ran");
        let alone = alone.env_remove("TENURE_STORE").env(slip, "redis://a").output().unwrap();
        is_refused(&alone, &[slip, "no store is chosen", "write TENURE_STORE"]);
        let chosen = scene.run_command("name", "echo ran").env(slip, "redis://a").output().unwrap();
        assert_eq!((code(&chosen), text(&chosen.stdout)), (0, "ran\n"), "{slip}");
    }
}

#[test]
fn a_store_that_no_other_command_sees_is_refused_by_all_of_them() {
    let scene = Scene::new();
    let quorum = "quorum:file:/a, memory:,file:/b";
    for store in ["memory:", "memory:x", "memory://", quorum] {
        for command in COMMANDS {
            let by_flag = scene.output(["--store", store].iter().chain(command).copied());
            is_refused(&by_flag, &["locks nothing", "file:/dir"]);
        }
        let by_variable = Scene::with_store(store).output(["ls"]);
        is_refused(&by_variable, &["locks nothing"]);
    }
}

#[test]
fn a_directory_that_depends_on_where_the_command_is_started_is_refused() {
    let scene = Scene::new();
    let here = scene.path("").canonicalize().unwrap();
    let here = here.display().to_string();
    let here = here.trim_end_matches('/');
    let inside = format!("write file:{here}/locks");
    for store in ["file:locks", "file:./locks", "quorum:file:/a,file:/b,file:locks"] {
        is_refused(&run_in(&scene, store), &["depends on where", &inside]);
    }
    for command in COMMANDS {
        is_refused(&scene.output(["--store", "file:locks"].iter().chain(command).copied()), &[]);
    }
    assert!(!scene.path("locks").exists());
}

#[test]
fn a_home_that_no_shell_replaced_is_refused() {
    let scene = Scene::new();
    for (store, says) in [
        ("file:~/locks", "write file:/home/me/locks"),
        ("file:~", "write file:/home/me"),
        ("file:~you/locks", "the whole path"),
        ("~/locks", "write file:/home/me/locks"),
    ] {
        let mut command = scene.tenure(["run", "name", "--store", store, "--", "true"]);
        is_refused(&command.env("HOME", "/home/me").output().unwrap(), &[says]);
    }
}

#[test]
fn a_path_without_a_scheme_is_refused_with_the_url_to_write() {
    let scene = Scene::new();
    for (store, says) in [
        ("/srv/locks", "write file:/srv/locks"),
        ("/srv/a:b", "write file:/srv/a:b"),
        ("./locks", "/locks"),
        ("file://srv/locks", "write file:/srv/locks"),
    ] {
        is_refused(&run_in(&scene, store), &["write file:/", says]);
    }
    let whole = scene.store().replacen("file:", "file://", 1);
    assert_eq!(text(&run_in(&scene, &whole).stdout), "ran\n", "three slashes are a path");
}

#[test]
fn a_password_that_is_not_encoded_gets_a_hint_and_is_not_shown() {
    let scene = Scene::new();
    for (store, sign) in [
        ("redis://:s3n@t1nel@127.0.0.1:1", "@ as %40"),
        ("redis://:s3n/t1nel@127.0.0.1:1", "/ as %2F"),
        ("redis://:s3n?t1nel@127.0.0.1:1", "? as %3F"),
        ("redis://:12?t1nel@127.0.0.1:1", "? as %3F"),
        ("unix:/nowhere/x?password=s3n&t1nel", "& as %26"),
        ("quorum:redis://:s3n/t1nel@a,redis://b,redis://c", "/ as %2F"),
    ] {
        let refused = run_in(&scene, store);
        let said = text(&refused.stderr);
        assert_eq!(code(&refused), 2, "{store}: {said}");
        assert!(said.contains(sign), "{store}: {said}");
        assert!(!said.contains("s3n") && !said.contains("t1nel"), "{store}: {said}");
    }
    let plain = run_in(&scene, "redis://127.0.0.1:1");
    assert!(!text(&plain.stderr).contains('%'), "{}", text(&plain.stderr));
}

#[test]
fn a_scheme_that_no_store_has_is_wrong_usage() {
    let scene = Scene::new();
    for store in ["http://x", "floppy:/a", "oracle://me:s3ntinel@host"] {
        let refused = run_in(&scene, store);
        is_refused(
            &refused,
            &[
                "is not a kind of store",
                "file:, redis:, rediss:, valkey:, valkeys:, unix:, redis-sentinel:, rediss-sentinel:, \
                 redis-cluster:, rediss-cluster:, quorum:",
            ],
        );
        let said = text(&refused.stderr);
        assert!(!said.contains("s3ntinel") && !said.contains("memory"), "{said}");
    }
}
