//! Where locks are kept, as it is shown: the URL that leads there, without its password.

use tenure_servers::RedisServer;

use crate::{
    process::code,
    scene::{Scene, events, json, text},
};

const SENTINEL: &str = "s3ntinel-passw0rd";

/// That the store is called `shown` wherever it is named.
#[track_caller]
fn is_shown(scene: &Scene, shown: &str) {
    let told = scene.run("name -v", "true");
    let said = text(&told.stderr);
    let by = "chosen by the variable TENURE_STORE";
    assert!(said.contains(&format!("locks are kept in {shown}, {by}\n")), "{said}");
    let told = events(&scene.run("name --json", "true").stderr);
    assert_eq!((&told[0]["event"], &told[0]["store"]), (&"store".into(), &shown.into()));
    let doctor = scene.output(["doctor"]);
    let doctor = text(&doctor.stdout);
    assert!(doctor.starts_with(&format!("Locks are kept in {shown}.\n")), "{doctor}");
    assert_eq!(json(&scene.output(["doctor", "--json"]).stdout)["store"], shown);

    let _holder = scene.start("name", "echo > held; exec sleep 1000");
    scene.line("held");
    for wait in ["--no-wait", "--wait 1s"] {
        let refused = scene.run(&format!("name {wait} -v"), "true");
        assert_eq!(code(&refused), 124);
        let said = text(&refused.stderr);
        assert!(said.contains(&format!("lock \"name\" in {shown}")), "{said}");
    }
}

#[test]
fn a_directory_is_shown_by_its_url() {
    let scene = Scene::new();
    is_shown(&scene, &scene.store());
}

#[test]
fn a_redis_is_shown_by_its_url_without_the_password() {
    let server = RedisServer::with(&["--save", "", "--requirepass", SENTINEL]);
    let (address, socket) = (server.address(), server.socket());
    let url = format!("redis://:{SENTINEL}@{address}/3?prefix=shop:");
    is_shown(&Scene::with_store(&url), &format!("redis://{address}/3?prefix=shop:"));
    let url = format!("unix:{}?db=4&password={SENTINEL}", socket.display());
    is_shown(&Scene::with_store(&url), &format!("unix:{}?db=4", socket.display()));
}

#[test]
fn a_quorum_is_shown_by_the_urls_of_its_members() {
    let dirs = tempfile::tempdir().unwrap();
    let member = |at: u32| format!("file:{}/{at}", dirs.path().display());
    let url = format!("quorum:{},{},{}", member(1), member(2), member(3));
    is_shown(&Scene::with_store(&url), &url);
}
