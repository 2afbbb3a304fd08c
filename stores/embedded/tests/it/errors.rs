//! What can be wrong with a directory, a disk or a file, and what the user is told.

use std::{
    fs::{self, File, Permissions},
    os::unix::{
        fs::{FileExt, PermissionsExt},
        process::CommandExt,
    },
    path::Path,
    process::Command,
};

use tenure_core::{
    Fault, FaultKind, Store,
    store::{Renewal, Severity},
};
use tenure_embedded::EmbeddedStore;

use crate::{
    child::{self, Process, i_am_root},
    support::{TTL, is_free, name, once, open, owner, state_files, take},
};

pub(crate) fn refused(dir: &Path) -> Fault {
    let fault = EmbeddedStore::open(dir).unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    fault
}

/// A child in a mount namespace of its own, where `mount` was run first.
pub(crate) fn with_mount(mount: &str, role: &[&str]) -> Option<Process> {
    let user: &[&str] = if i_am_root() { &[] } else { &["--user", "--map-root-user"] };
    let shell = format!("{mount} && exec \"$0\" \"$@\"");
    let before = [&["unshare", "--mount"], user, &["sh", "-c", &shell]].concat();
    let works = Command::new(before[0]).args(&before[1..]).arg("true").status();
    if !works.is_ok_and(|status| status.success()) {
        eprintln!("not shown: this machine lets tests mount nothing");
        return None;
    }
    let program = std::env::current_exe().unwrap();
    Some(Process::run(&mut child::command(&before, &program, role)))
}

#[test]
fn a_full_disk_is_named_and_what_is_held_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_str().unwrap();
    let mount = format!("mount -t tmpfs -o size=256k none '{path}'");
    let Some(mut process) = with_mount(&mount, &["fill the disk", path]) else { return };
    let said = process.says().unwrap();
    assert!(said.contains("Misconfigured") && said.contains("the disk is full"), "{said}");
    assert_eq!(process.says().unwrap(), "granted when there was room again");
}

#[test]
fn a_read_only_file_system_is_named() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(&dir));
    let path = dir.path().to_str().unwrap();
    let mount = format!("mount --bind '{path}' '{path}' && mount -o remount,bind,ro '{path}'");
    let Some(mut process) = with_mount(&mount, &["open", path]) else { return };
    let said = process.says().unwrap();
    assert!(said.contains("Misconfigured") && said.contains("is read-only"), "{said}");
}

#[test]
fn a_missing_permission_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    drop(EmbeddedStore::open(&store).unwrap());
    let role = ["open", store.to_str().unwrap()];
    let said = if i_am_root() {
        // Nothing is denied to root, so somebody else has to try, with a program he may run.
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
        let program = dir.path().join("program");
        tenure_testkit::child::copy_program(std::env::current_exe().unwrap(), &program);
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        let mut command = child::command(&[], &program, &role);
        Process::run(command.uid(65534).gid(65534).current_dir("/")).says().unwrap()
    } else {
        fs::set_permissions(&store, Permissions::from_mode(0o000)).unwrap();
        let said = Process::start(&role).says().unwrap();
        fs::set_permissions(&store, Permissions::from_mode(0o700)).unwrap();
        said
    };
    assert!(said.contains("Misconfigured") && said.contains("permission denied"), "{said}");
}

/// What a process says that opens the store after it was limited by `before`.
fn opened_under(before: &[&str]) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let role = ["open", store.to_str().unwrap()];
    let said =
        Process::run(&mut child::command(before, &std::env::current_exe().unwrap(), &role)).says();
    (dir, said.unwrap())
}

#[test]
fn a_limit_to_the_size_of_files_is_named() {
    // Who tries to exceed it is killed.
    let (_dir, said) = opened_under(&["prlimit", "--fsize=100"]);
    assert!(said.contains("Misconfigured") && said.contains("ulimit -f"), "{said}");
}

#[test]
fn a_umask_that_takes_from_its_own_user_is_named_and_leaves_nothing_behind() {
    let (dir, said) = opened_under(&["sh", "-c", "umask 0177; exec \"$@\"", "sh"]);
    assert!(said.contains("Misconfigured") && said.contains("umask 077"), "{said}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_file_instead_of_the_directory_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "not locks").unwrap();
    assert!(refused(&file).message().contains("is a file, not a directory"));
    assert!(refused(&file.join("below")).message().contains("is a file, not a directory"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "not locks");
}

#[test]
fn a_link_that_leads_nowhere_is_named() {
    let dir = tempfile::tempdir().unwrap();
    for (link, to) in [("loop", "loop"), ("dangling", "not-there")] {
        let link = dir.path().join(link);
        std::os::unix::fs::symlink(to, &link).unwrap();
        let fault = refused(&link);
        // No time mends it.
        assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
        assert!(fault.message().contains(&link.display().to_string()), "{fault:#}");
    }
}

/// Writes over both slots of a file of the store.
fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    let file = File::options().write(true).open(path).unwrap();
    for slot in [0, 2048] {
        file.write_all_at(bytes, slot + at).unwrap();
    }
}

#[tokio::test]
async fn files_of_another_version_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    take(&store, &name("a")).await;
    let file = state_files(dir.path()).remove(0);
    overwrite(&file, 4, &7_u16.to_le_bytes());
    let fault = store.acquire(&name("a"), &once(owner())).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured);
    assert!(fault.message().contains("another version of tenure (format 7)"), "{fault:#}");
    // An eviction repairs what is damaged, not what others can read.
    assert_eq!(store.evict(&name("a")).await.unwrap_err().kind(), FaultKind::Misconfigured);

    overwrite(&dir.path().join("clock"), 4, &9_u16.to_le_bytes());
    assert!(refused(dir.path()).message().contains("another version of tenure (format 9)"));
}

#[tokio::test]
async fn a_store_of_format_1_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let left = include_bytes!("format_1/clock");
    let clock = dir.path().join("clock");
    fs::write(&clock, left).unwrap();
    let fault = refused(dir.path());
    assert_eq!(fault.kind(), FaultKind::Misconfigured);
    assert!(fault.message().contains("another version of tenure (format 1)"), "{fault:#}");
    assert!(fault.help().contains("docs/upgrading.md"), "{fault:#}");
    assert_eq!(fs::read(&clock).unwrap(), left);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_damaged_state_is_refused_until_it_is_evicted() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let (mine, first) = take(&store, &name("a")).await;
    take(&store, &name("b")).await;
    let file = state_files(dir.path())
        .into_iter()
        .find(|path| fs::read(path).unwrap().windows(3).any(|bytes| bytes == b"\x01\0a"))
        .unwrap();
    overwrite(&file, 60, &[0xff; 40]);

    let fault = store.acquire(&name("a"), &once(owner())).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Corrupt);
    assert!(fault.help().contains("tenure break"), "{fault:#}");
    let renewal = Renewal { name: name("a"), owner: mine, ttl: TTL };
    assert!(matches!(store.renew(&[renewal]).await[..], [Err(_)]));
    // One damaged name does not hide the others, and doctor names its file.
    let names = store.list("", 10).await.unwrap().names;
    assert_eq!(names.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["b"]);
    let diagnostics = store.health().await.unwrap();
    let bad = diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Bad).unwrap();
    assert!(bad.found.contains(file.to_str().unwrap()), "{bad:?}");

    // Another client repairs it, one that never saw the name.
    let other = open(&dir);
    assert!(other.evict(&name("a")).await.unwrap().is_empty());
    let (_, next) = take(&store, &name("a")).await;
    assert!(next > first);
}

#[tokio::test]
async fn the_file_of_another_name_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    take(&store, &name("a")).await;
    let a = state_files(dir.path()).remove(0);
    take(&store, &name("b")).await;
    let b = state_files(dir.path()).into_iter().find(|path| *path != a).unwrap();
    fs::copy(&a, &b).unwrap();
    let fault = store.acquire(&name("b"), &once(owner())).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Corrupt);
    assert!(fault.message().contains("another lock"), "{fault:#}");
    store.evict(&name("b")).await.unwrap();
    take(&store, &name("b")).await;
    assert!(!is_free(&store, &name("a")).await);
}

#[tokio::test]
async fn a_damaged_clock_fails_closed() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(&dir));
    overwrite(&dir.path().join("clock"), 20, &[0xff; 30]);
    let fault = EmbeddedStore::open(dir.path()).unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Corrupt);
    assert!(fault.message().contains("clock") && fault.help().contains("backup"), "{fault:#}");
}

/// Writes over both slots, and signs them as a store does.
fn forge(path: &Path, at: usize, bytes: &[u8]) {
    let mut page = fs::read(path).unwrap();
    page.resize(4096, 0);
    for slot in [0, 2048] {
        let slot = &mut page[slot..slot + 2048];
        slot[at..at + bytes.len()].copy_from_slice(bytes);
        let length = u32::from_le_bytes(slot[32..36].try_into().unwrap()) as usize;
        let signed = [&slot[..40], &slot[48..48 + length]].concat();
        slot[40..44].copy_from_slice(&crc32fast::hash(&signed).to_le_bytes());
    }
    File::options().write(true).open(path).unwrap().write_all_at(&page, 0).unwrap();
}

#[tokio::test]
async fn a_clock_that_cannot_go_on_fails_closed() {
    for (at, number) in [(8, u64::MAX - 1), (8, u64::MAX), (48 + 16, u64::MAX), (48 + 16, 1 << 53)]
    {
        let dir = tempfile::tempdir().unwrap();
        drop(open(&dir));
        forge(&dir.path().join("clock"), at, &number.to_le_bytes());
        let fault = EmbeddedStore::open(dir.path()).unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Corrupt, "{at} {number}: {fault:#}");
    }
}

#[tokio::test]
async fn a_name_whose_file_makes_no_sense_is_missing_from_the_list_and_that_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    for at in ["a", "b"] {
        take(&store, &name(at)).await;
    }
    forge(&state_files(dir.path()).remove(0), 8, &u64::MAX.to_le_bytes());
    let listed = store.list("", 10).await.unwrap();
    assert_eq!((listed.names.len(), listed.missing.len()), (1, 1), "{listed:?}");
    assert!(listed.missing[0].contains("cannot be read"), "{listed:?}");
}

#[tokio::test]
async fn files_removed_in_use_are_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let (mine, _) = take(&store, &name("a")).await;
    fs::remove_dir_all(dir.path().join("boots")).unwrap();
    // Others would make new files and never see this store's holds.
    let other = open(&dir);
    assert!(is_free(&other, &name("a")).await);
    let renewal = Renewal { name: name("a"), owner: mine, ttl: TTL };
    assert!(matches!(store.renew(&[renewal]).await[..], [Err(_)]));
    let fault = store.acquire(&name("a"), &once(owner())).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured);
    assert!(fault.message().contains("were removed while it was in use"), "{fault:#}");
}

/// An empty list would say that nothing is held.
#[tokio::test]
async fn a_list_of_names_whose_files_were_removed_is_an_error() {
    let boot = |dir: &Path| fs::read_dir(dir.join("boots")).unwrap().next().unwrap().unwrap();
    for part in ["", "boots", "locks", "moved"] {
        let dir = tempfile::tempdir().unwrap();
        let store = open(&dir);
        take(&store, &name("a")).await;
        assert_eq!(store.list("", 10).await.unwrap().names.len(), 1);
        let elsewhere = tempfile::tempdir().unwrap();
        match part {
            "moved" => fs::rename(dir.path(), elsewhere.path()).unwrap(),
            "locks" => fs::remove_dir_all(boot(dir.path()).path().join(part)).unwrap(),
            _ => fs::remove_dir_all(dir.path().join(part)).unwrap(),
        }
        fs::create_dir_all(dir.path()).unwrap();
        let fault = store.list("", 10).await.unwrap_err();
        assert!(fault.message().contains("were removed while it was in use"), "{fault:#}");
        drop(open(&dir));
        let fault = store.list("", 10).await.unwrap_err();
        assert!(fault.message().contains("were removed while it was in use"), "{fault:#}");
    }
}
