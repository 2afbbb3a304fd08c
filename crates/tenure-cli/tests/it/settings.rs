use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use nix::sys::stat::Mode;

use crate::{
    process::code,
    scene::{Scene, text},
};

fn with_file(scene: &Scene, content: &str) {
    fs::create_dir_all(scene.path("config/tenure")).unwrap();
    fs::write(scene.path("config/tenure/config.toml"), content).unwrap();
}

#[test]
fn the_store_comes_from_flag_then_variable_then_file() {
    let scene = Scene::new();
    let place = |name: &str| scene.path(name).display().to_string();
    with_file(&scene, &format!("store = 'file:{}'", place("by-file")));
    let flag = format!("file:{}", place("by-flag"));

    let output = scene.tenure(["run", "x", "-v", "--", "true"]).env_remove("TENURE_STORE").output();
    assert!(text(&output.unwrap().stderr).contains(&place("by-file")));
    let output = scene.tenure(["run", "x", "-v", "--", "true"]).output();
    assert!(text(&output.unwrap().stderr).contains(&place("locks")));
    let output = scene.tenure(["run", "x", "-v", "--store", &flag, "--", "true"]).output();
    assert!(text(&output.unwrap().stderr).contains(&place("by-flag")));
}

#[test]
fn a_mistake_in_the_file_is_named_with_file_line_and_cure() {
    let scene = Scene::new();
    with_file(&scene, "# ours\nstor = 'file:/x'\n");
    let output = scene.run("name", "true");
    assert_eq!(code(&output), 2);
    let said = text(&output.stderr);
    assert!(said.contains("config.toml, line 2") && said.contains("did you mean store?"), "{said}");
}

#[test]
fn a_file_that_was_named_must_be_there() {
    let scene = Scene::new();
    let output = scene.tenure(["ls"]).env("TENURE_CONFIG", "/nowhere/x.toml").output().unwrap();
    assert_eq!(code(&output), 2);
    assert!(text(&output.stderr).contains("/nowhere/x.toml"));
}

#[test]
fn the_store_that_a_flag_names_stands_in_the_file() {
    let scene = Scene::new();
    let place = |name: &str| scene.path(name).display().to_string();
    with_file(&scene, &format!("[stores]\nours = 'file:{}'", place("by-name")));
    let output = scene.run("x -v --store ours", "true");
    assert!(text(&output.stderr).contains(&place("by-name")));
    let output = scene.run("x --store oars", "true");
    assert_eq!(code(&output), 2);
    assert!(text(&output.stderr).contains("did you mean ours?"), "{}", text(&output.stderr));
}

#[test]
fn a_lock_takes_its_settings_from_the_file_by_its_name() {
    let scene = Scene::new();
    with_file(&scene, "[locks.'short:*']\nmax-hold = '200ms'\n");
    assert_eq!(code(&scene.run("long:x", "exit 7")), 7);
    assert_eq!(code(&scene.run("short:x", "exec sleep 60")), 123);
}

#[test]
fn a_configuration_is_a_file_that_not_everybody_may_change() {
    let scene = Scene::new();
    let fifo = scene.path("fifo");
    nix::unistd::mkfifo(&fifo, Mode::S_IRWXU).unwrap();
    let open = scene.path("open.toml");
    fs::write(&open, "ttl = '10s'\n").unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o666)).unwrap();
    let with = |path: &Path| scene.tenure(["ls"]).env("TENURE_CONFIG", path).output().unwrap();
    for (path, told) in [
        (fifo.as_path(), "not a regular file"),
        (Path::new("/dev/zero"), "not a regular file"),
        (Path::new("/proc"), "not a regular file"),
        (&open, "chmod o-w"),
    ] {
        let refused = with(path);
        let said = text(&refused.stderr);
        assert_eq!(code(&refused), 2, "{said}");
        assert!(said.contains(told) && said.contains(&path.display().to_string()), "{said}");
    }
    assert_eq!(code(&with(Path::new("/dev/null"))), 0);
    fs::set_permissions(&open, fs::Permissions::from_mode(0o664)).unwrap();
    assert_eq!(code(&with(&open)), 0);
    // A file of others can take its place, or that of what a link to it leads to.
    let (folder, link) = (scene.path("open"), scene.path("link"));
    fs::create_dir(&folder).unwrap();
    let inside = folder.join("config.toml");
    fs::rename(&open, &inside).unwrap();
    std::os::unix::fs::symlink(&inside, &link).unwrap();
    for (mode, expected) in [(0o777, 2), (0o1777, 0), (0o775, 0)] {
        fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        for path in [&inside, &link] {
            let refused = with(path);
            assert_eq!(code(&refused), expected, "{mode:o} {path:?}: {}", text(&refused.stderr));
        }
    }
    // Only root can give it away.
    if std::os::unix::fs::chown(&inside, Some(54_321), None).is_ok() {
        let warned = with(&inside);
        assert!(text(&warned.stderr).contains("belongs to user 54321"), "{}", text(&warned.stderr));
        let mut quiet = scene.tenure(["ls", "-q"]);
        let quiet = quiet.env("TENURE_CONFIG", &inside).output().unwrap();
        assert_eq!(text(&quiet.stderr), "");
    }
}

#[test]
fn files_of_certificates_are_neither_waited_for_nor_read_without_end() {
    let scene = Scene::new();
    let fifo = scene.path("fifo");
    nix::unistd::mkfifo(&fifo, Mode::S_IRWXU).unwrap();
    let fifo = fifo.display().to_string();
    for url in [
        "rediss://127.0.0.1:1?ca=FILE",
        "rediss://127.0.0.1:1?cert=FILE&key=FILE",
        "postgres://me@127.0.0.1:1/db?tls=yes&ca=FILE",
        "mysql://me@127.0.0.1:1/db?tls=yes&ca=FILE",
        "zookeeper://127.0.0.1:1?tls=yes&ca=FILE",
    ] {
        for file in [fifo.as_str(), "/dev/zero"] {
            let url = url.replace("FILE", file);
            let refused = scene.output(["ls", "--store", &url]);
            let said = text(&refused.stderr);
            assert!(said.contains("not a regular file") && said.contains(file), "{url}: {said}");
        }
    }
}

#[test]
fn doctor_warns_of_a_password_that_everybody_may_read() {
    let scene = Scene::new();
    fs::create_dir_all(scene.path("config/tenure")).unwrap();
    let file = scene.path("config/tenure/config.toml");
    let store = scene.path("of-file").display().to_string();
    let url = "redis://me:s3ntinel@127.0.0.1:1";
    fs::write(&file, format!("store = 'file:{store}'\n[stores]\nother = '{url}'\n")).unwrap();
    for (mode, warns) in [(0o644, true), (0o640, false)] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let looked = scene.tenure(["doctor"]).env_remove("TENURE_STORE").output().unwrap();
        let said = text(&looked.stdout);
        assert_eq!(said.contains("every user can read"), warns, "{mode:o}: {said}");
        assert!(!said.contains("s3ntinel"), "{said}");
    }
}
