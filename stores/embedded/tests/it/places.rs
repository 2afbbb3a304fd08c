//! Where a store is, and who meets there.

use std::{
    env,
    fs::{self, Permissions},
    os::unix::{
        fs::{PermissionsExt, chown, symlink},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use tenure_core::{
    AcquireError, All, Store, Tenure,
    store::{Diagnostic, Severity},
};
use tenure_embedded::EmbeddedStore;

use crate::{
    child::{self, Process, i_am_root},
    support::{name, open, take},
};

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn all_below(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            let below = if path.is_dir() { all_below(&path) } else { Vec::new() };
            std::iter::once(path).chain(below)
        })
        .collect()
}

fn diagnostic<'a>(diagnostics: &'a [Diagnostic], what: &str) -> &'a Diagnostic {
    diagnostics.iter().find(|diagnostic| diagnostic.what == what).unwrap()
}

#[tokio::test]
async fn a_new_store_is_for_its_owner_alone() {
    let around = tempfile::tempdir().unwrap();
    let dir = around.path().join("a/b/store");
    let store = EmbeddedStore::open(&dir).unwrap();
    take(&store, &name("a")).await;
    assert_eq!(mode(&dir), 0o700);
    for path in all_below(&dir) {
        let socket = path.extension().is_some_and(|ending| ending == "sock");
        assert!(socket || mode(&path) & 0o077 == 0, "{} is {:o}", path.display(), mode(&path));
    }
    let diagnostics = store.health().await.unwrap();
    // What kind of file system the tests run on is no matter of modes.
    let mut others = diagnostics.iter().filter(|diagnostic| diagnostic.what != "file system");
    assert!(others.all(|diagnostic| diagnostic.severity == Severity::Good), "{diagnostics:?}");
    assert!(diagnostic(&diagnostics, "place").found.contains(dir.to_str().unwrap()));
    assert_eq!(store.location(), format!("file:{}", dir.display()));
    assert_eq!(store.for_engine().location(), store.location());
}

#[tokio::test]
async fn one_directory_has_one_location_however_it_is_spelled() {
    let around = tempfile::tempdir().unwrap();
    let around = around.path().canonicalize().unwrap();
    let dir = around.join("store");
    let plain = EmbeddedStore::open(&dir).unwrap();
    let location = format!("file:{}", dir.display());
    assert_eq!(plain.location(), location);
    fs::create_dir(around.join("beside")).unwrap();
    symlink(&dir, around.join("link")).unwrap();
    let up: PathBuf = env::current_dir().unwrap().components().skip(1).map(|_| "..").collect();
    let relative = up.join(dir.strip_prefix("/").unwrap());
    let spelled = [around.join("beside/../store"), around.join("link"), relative];
    let plain = Tenure::new(Arc::new(plain));
    for path in spelled {
        let same = EmbeddedStore::open(&path).unwrap();
        assert_eq!(same.location(), location, "{}", path.display());
        let same = Tenure::new(Arc::new(same));
        let error = All::of([plain.mutex("a"), same.mutex("a")]).lock().await.unwrap_err();
        assert!(matches!(error, AcquireError::Twice { .. }), "{error:#}");
    }
}

#[tokio::test]
async fn a_directory_that_all_may_read_shows_them_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    let store = open(&dir);
    take(&store, &name("a")).await;
    for path in all_below(dir.path()) {
        let socket = path.extension().is_some_and(|ending| ending == "sock");
        assert!(socket || mode(&path) & 0o077 == 0, "{} is {:o}", path.display(), mode(&path));
    }
}

#[tokio::test]
async fn a_directory_open_to_all_is_warned_about() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o1777)).unwrap();
    let diagnostics = open(&dir).health().await.unwrap();
    assert_eq!(diagnostic(&diagnostics, "sharing").severity, Severity::Warning);
}

#[test]
fn users_of_one_group_meet_in_its_directory() {
    users_meet(0o2770, 61_000);
}

#[test]
fn they_meet_too_where_the_group_is_not_handed_down() {
    users_meet(0o770, 61_003);
}

/// Two users in a directory of group 61000, whose first group is `first`.
fn users_meet(mode: u32, first: u32) {
    if !i_am_root() {
        eprintln!("not shown: only root can be two other users");
        return;
    }
    let around = tempfile::tempdir().unwrap();
    fs::set_permissions(around.path(), Permissions::from_mode(0o755)).unwrap();
    let dir = around.path().join("store");
    fs::create_dir(&dir).unwrap();
    chown(&dir, Some(61_001), Some(61_000)).unwrap();
    fs::set_permissions(&dir, Permissions::from_mode(mode)).unwrap();
    let program = around.path().join("program");
    tenure_testkit::child::copy_program(env::current_exe().unwrap(), &program);
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let start = |user: u32, role: &[&str]| {
        // A umask that would keep the others out.
        let (user, first) = (user.to_string(), first.to_string());
        let before = [
            &["setpriv", "--reuid", &user, "--regid", &first, "--groups", "61000"][..],
            &["sh", "-c", "umask 077 && exec \"$0\" \"$@\""],
        ];
        let mut command = child::command(&before.concat(), &program, role);
        Process::run(command.current_dir("/"))
    };
    let place = dir.to_str().unwrap();
    let mut holder = start(61_001, &["hold", place, "a", "60000"]);
    let first = holder.says_held();
    let mut waiter = start(61_002, &["wait", place, "a"]);
    assert_eq!(waiter.says().unwrap(), "waiting");
    holder.go_on();
    assert_eq!(holder.says().unwrap(), "Released");
    assert!(waiter.says_held() > first);
    waiter.kill();
    // What one of them left behind the other one removes.
    let mut again = start(61_001, &["hold", place, "a", "60000"]);
    again.says_held();
}

#[cfg(target_os = "linux")]
fn default_of(command: &mut Command) -> String {
    // Whatever the environment says: cron and sudo say something else.
    command.env("HOME", "/elsewhere").env("XDG_STATE_HOME", "/elsewhere");
    Process::run(command.env("XDG_RUNTIME_DIR", "/elsewhere")).says().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn the_default_place_follows_the_user_not_the_environment() {
    let around = tempfile::tempdir().unwrap();
    fs::set_permissions(around.path(), Permissions::from_mode(0o755)).unwrap();
    let program = around.path().join("program");
    tenure_testkit::child::copy_program(env::current_exe().unwrap(), &program);
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let mut command = child::command(&[], &program, &["say the default"]);
    let user = if i_am_root() {
        assert_eq!(default_of(&mut command), "/var/lib/tenure");
        command.uid(65534).gid(65534).current_dir("/");
        "65534".to_owned()
    } else {
        let id = Command::new("id").arg("-u").output().unwrap().stdout;
        String::from_utf8(id).unwrap().trim().to_owned()
    };
    let entry = Command::new("getent").args(["passwd", &user]).output().unwrap().stdout;
    let entry = String::from_utf8(entry).unwrap();
    let Some(home) = entry.split(':').nth(5) else {
        eprintln!("not shown: user {user} has no passwd entry");
        return;
    };
    let default = default_of(&mut command);
    if fs::exists("/var/lib/tenure").unwrap() || !default.starts_with("/var") {
        assert_eq!(default, format!("{home}/.local/state/tenure"));
    }
}

#[tokio::test]
async fn one_directory_is_one_whatever_it_is_called() {
    let parent = tempfile::tempdir().unwrap();
    let at = |name: &str| parent.path().join(name);
    for made in ["one", "other"] {
        fs::create_dir(at(made)).unwrap();
    }
    symlink(at("one"), at("link")).unwrap();
    let server =
        async |path: PathBuf| EmbeddedStore::open(&path).unwrap().server().await.unwrap().unwrap();
    let one = server(at("one")).await;
    assert_eq!(one, server(at("link")).await);
    assert_eq!(one, server(at("one/../one")).await);
    assert_ne!(one, server(at("other")).await);
}
