use std::fs;

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
