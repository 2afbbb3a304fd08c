//! What is not tenure's is not adopted, followed, waited for, written or removed.

use std::{
    fs,
    os::unix::{
        fs::{PermissionsExt, symlink},
        net::UnixDatagram,
    },
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use tenure_core::{
    FaultKind, Store,
    proto::{Renewed, queue::Answer},
    store::Renewal,
};
use tenure_embedded::EmbeddedStore;

use crate::{
    errors::refused,
    support::{give_back, is_free, name, once, open, owner, state_files, take, waiting},
};

/// Everything below a directory, with its content.
fn all(dir: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found: Vec<_> =
        walk(dir).into_iter().map(|path| (fs::read(&path).ok(), path)).collect();
    found.sort();
    found.into_iter().map(|(content, path)| (path, content)).collect()
}

pub(crate) fn walk(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let below = |entry: fs::DirEntry| {
        let path = entry.path();
        let below = if entry.file_type().unwrap().is_dir() { walk(&path) } else { Vec::new() };
        std::iter::once(path).chain(below)
    };
    entries.flat_map(below).collect()
}

#[test]
fn a_directory_with_other_things_is_refused_and_left_as_it_is() {
    for other in ["boots/leather/size 42", "notes.txt", "locks/a.lk", "clock.tmp", "clock.old/x"] {
        let dir = tempfile::tempdir().unwrap();
        let other = dir.path().join(other);
        fs::create_dir_all(other.parent().unwrap()).unwrap();
        fs::write(&other, "somebody's").unwrap();
        let before = all(dir.path());
        let fault = refused(dir.path());
        assert!(fault.message().contains("is not a store of tenure"), "{fault:#}");
        assert!(fault.help().contains("file:"), "{fault:#}");
        assert_eq!(all(dir.path()), before);
    }
}

#[test]
fn an_empty_directory_becomes_a_store_and_stays_one_whatever_is_put_there() {
    let dir = tempfile::tempdir().unwrap();
    // What a file system has by itself, and what a process leaves that is killed while it begins.
    fs::create_dir(dir.path().join("lost+found")).unwrap();
    fs::write(dir.path().join("clock.0123456789abcdef.tmp"), "").unwrap();
    drop(open(&dir));
    fs::write(dir.path().join("notes.txt"), "hello").unwrap();
    drop(open(&dir));
    assert_eq!(fs::read_to_string(dir.path().join("notes.txt")).unwrap(), "hello");
}

#[test]
fn somebody_elses_clock_makes_no_store() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("clock"), "It is half past ten.\n".repeat(300)).unwrap();
    let before = all(dir.path());
    let fault = EmbeddedStore::open(dir.path()).unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Corrupt);
    assert_eq!(all(dir.path()), before);
}

/// A used store, and something beside it that looks alike.
async fn scene() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let around = tempfile::tempdir().unwrap();
    let (dir, victim) = (around.path().join("store"), around.path().join("victim"));
    for dir in [&dir, &victim] {
        let store = EmbeddedStore::open(dir).unwrap();
        let (mine, _) = take(&store, &name("a")).await;
        give_back(&store, &name("a"), &mine).await;
    }
    (around, dir, victim)
}

/// What the calls of a user say of a store: opening it, and then taking a name.
async fn used(dir: &Path) -> Result<(), tenure_core::Fault> {
    let store = EmbeddedStore::open(dir)?;
    store.acquire(&name("a"), &once(owner())).await.map(drop)
}

#[tokio::test]
async fn a_link_in_place_of_a_directory_is_not_followed() {
    let (_around, dir, victim) = scene().await;
    let shelf = |dir: &Path| state_files(dir)[0].parent().unwrap().to_owned();
    let paths = |dir: &Path| {
        let boot = shelf(dir).parent().unwrap().parent().unwrap().to_owned();
        [dir.join("boots"), boot.clone(), boot.join("members"), boot.join("locks"), shelf(dir)]
    };
    let before = all(&victim);
    for (path, target) in paths(&dir).iter().zip(paths(&victim)) {
        let aside = dir.with_file_name("aside");
        fs::rename(path, &aside).unwrap();
        symlink(&target, path).unwrap();
        let fault = used(&dir).await.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
        assert!(fault.message().contains(path.to_str().unwrap()), "{fault:#}");
        assert!(fault.message().contains("link"), "{fault:#}");
        assert_eq!(all(&victim), before, "through {}", path.display());
        fs::remove_file(path).unwrap();
        fs::rename(&aside, path).unwrap();
    }
    used(&dir).await.unwrap();
}

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[tokio::test]
async fn a_link_a_pipe_a_socket_or_a_directory_in_place_of_a_file_is_refused() {
    let (_around, dir, victim) = scene().await;
    let paths = |dir: &Path| {
        let state = state_files(dir)[0].clone();
        let boot = state.ancestors().nth(3).unwrap().to_owned();
        [dir.join("clock"), boot.join("floor"), state]
    };
    let before = all(&victim);
    for (path, target) in paths(&dir).iter().zip(paths(&victim)) {
        let aside = dir.with_file_name("aside");
        fs::rename(path, &aside).unwrap();
        let others: [&dyn Fn(); 4] = [
            &|| symlink(&target, path).unwrap(),
            &|| make_pipe(path),
            &|| drop(UnixDatagram::bind(path).unwrap()),
            &|| fs::create_dir(path).unwrap(),
        ];
        for put in others {
            put();
            let tried = tokio::time::timeout(Duration::from_secs(10), used(&dir)).await;
            let fault = tried.expect("nothing waits for it").unwrap_err();
            assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
            assert!(fault.message().contains(path.to_str().unwrap()), "{fault:#}");
            assert!(fault.help().contains("what put it there"), "{fault:#}");
            assert!(path.symlink_metadata().is_ok(), "it stays");
            let _ = fs::remove_file(path).or_else(|_| fs::remove_dir(path));
        }
        fs::rename(&aside, path).unwrap();
    }
    assert_eq!(all(&victim), before);
    used(&dir).await.unwrap();
}

#[tokio::test]
async fn what_lies_in_place_of_a_members_file_kills_nobody_and_holds_nobody_up() {
    let dir = tempfile::tempdir().unwrap();
    let (holder, other) = (open(&dir), open(&dir));
    take(&holder, &name("a")).await;
    let boot = state_files(dir.path())[0].ancestors().nth(3).unwrap().to_owned();
    for member in walk(&boot.join("members")) {
        if member.extension().is_none() {
            fs::remove_file(&member).unwrap();
            make_pipe(&member);
        }
    }
    let looked = tokio::time::timeout(Duration::from_secs(10), is_free(&other, &name("a"))).await;
    assert!(!looked.expect("nobody waits for a pipe"), "its lease goes on");
    drop(open(&dir));
}

#[tokio::test]
async fn a_file_that_is_no_state_is_not_written_over_by_a_repair() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let (mine, _) = take(&store, &name("a")).await;
    give_back(&store, &name("a"), &mine).await;
    let state = state_files(dir.path()).remove(0);
    let precious = dir.path().join("precious");
    fs::write(&precious, "worth keeping\n".repeat(400)).unwrap();
    fs::remove_file(&state).unwrap();
    fs::hard_link(&precious, &state).unwrap();

    let other = open(&dir);
    let fault = other.acquire(&name("a"), &once(owner())).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Corrupt);
    let fault = other.evict(&name("a")).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    assert!(fault.message().contains(state.to_str().unwrap()), "{fault:#}");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "worth keeping\n".repeat(400));
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_hint_follows_no_link() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o2770)).unwrap();
    let (holder, waiter) = (open(&dir), open(&dir));
    let (mine, _) = take(&holder, &name("a")).await;
    let waits = waiting(owner());
    assert!(matches!(waiter.acquire(&name("a"), &waits).await, Ok(Answer::Busy { .. })));
    let elsewhere = tempfile::tempdir().unwrap();
    let socket = UnixDatagram::bind(elsewhere.path().join("log")).unwrap();
    socket.set_nonblocking(true).unwrap();
    let boot = state_files(dir.path())[0].ancestors().nth(3).unwrap().to_owned();
    for path in walk(&boot.join("members")) {
        if path.extension().is_some() {
            fs::remove_file(&path).unwrap();
            symlink(elsewhere.path().join("log"), &path).unwrap();
        }
    }
    give_back(&holder, &name("a"), &mine).await;
    let heard = socket.recv(&mut [0; 32]).unwrap_err();
    assert_eq!(heard.kind(), std::io::ErrorKind::WouldBlock, "nothing was sent there");
}

#[test]
fn a_directory_whose_other_things_have_odd_names_is_refused_too() {
    use std::os::unix::ffi::OsStrExt;
    let dir = tempfile::tempdir().unwrap();
    let odd = dir.path().join(std::ffi::OsStr::from_bytes(b"\xff\xfebusiness"));
    fs::write(&odd, "somebody's").unwrap();
    assert!(refused(dir.path()).message().contains("is not a store of tenure"));
}

#[tokio::test]
async fn a_store_that_lost_its_clock_is_no_reason_to_make_another_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    take(&store, &name("a")).await;
    fs::remove_file(dir.path().join("clock")).unwrap();
    let fault = refused(dir.path());
    assert!(fault.message().contains("`clock` is missing"), "{fault:#}");
    assert!(fault.help().contains("end all processes"), "{fault:#}");
    drop(store);
    fs::remove_dir_all(dir.path().join("boots")).unwrap();
    drop(open(&dir));
}

#[tokio::test]
async fn what_has_the_name_of_a_members_file_and_is_something_else_stays() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    take(&store, &name("a")).await;
    let boot = state_files(dir.path())[0].ancestors().nth(3).unwrap().to_owned();
    let named =
        |number: u32, ending: &str| boot.join("members").join(format!("{number:032x}{ending}"));
    let precious = dir.path().join("precious");
    fs::write(&precious, "worth keeping").unwrap();
    symlink(&precious, named(1, ".sock")).unwrap();
    make_pipe(&named(2, ".sock"));
    fs::write(named(3, ".sock"), "somebody's").unwrap();
    symlink(&precious, named(4, "")).unwrap();
    make_pipe(&named(5, ""));
    fs::create_dir(named(6, "")).unwrap();
    let before = walk(&boot.join("members"));
    drop(open(&dir));
    store.health().await.unwrap();
    assert_eq!(walk(&boot.join("members")), before);
}

#[test]
fn a_directory_that_others_cannot_enter_is_none_of_a_shared_store() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o2770)).unwrap();
    drop(open(&dir));
    let boots = dir.path().join("boots");
    fs::rename(&boots, dir.path().join("aside")).unwrap();
    fs::create_dir(&boots).unwrap();
    fs::set_permissions(&boots, fs::Permissions::from_mode(0o700)).unwrap();
    let fault = refused(dir.path());
    assert!(fault.message().contains("boots: it is not shared"), "{fault:#}");
    assert_eq!(walk(&boots), [] as [PathBuf; 0]);
}

#[test]
fn many_that_use_a_shared_directory_first_all_find_their_way() {
    for _ in 0..40 {
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o2770)).unwrap();
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            let opening = || {
                start.wait();
                EmbeddedStore::open(dir.path()).map(drop)
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(opening)).collect();
            for thread in threads {
                thread.join().unwrap().unwrap();
            }
        });
    }
}

#[tokio::test]
async fn the_holds_in_a_store_that_was_moved_end() {
    let around = tempfile::tempdir().unwrap();
    let (dir, aside) = (around.path().join("store"), around.path().join("aside"));
    let store = EmbeddedStore::open(&dir).unwrap();
    let (mine, _) = take(&store, &name("a")).await;
    let renewal = Renewal { name: name("a"), owner: mine, ttl: crate::support::TTL };
    fs::rename(&dir, &aside).unwrap();
    // Who opens it now sees nobody, so nobody may go on for longer than its lease.
    assert!(matches!(store.renew(std::slice::from_ref(&renewal)).await[..], [Err(_)]));
    let fault = store.acquire(&name("b"), &once(owner())).await.unwrap_err();
    assert!(fault.message().contains("removed while it was in use"), "{fault:#}");
    fs::rename(&aside, &dir).unwrap();
    assert!(matches!(store.renew(&[renewal]).await[..], [Ok(Renewed::Renewed { .. })]));
}

#[tokio::test]
async fn a_record_that_nothing_could_follow_makes_no_sense() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let (mine, _) = take(&store, &name("a")).await;
    give_back(&store, &name("a"), &mine).await;
    let state = state_files(dir.path()).remove(0);
    let mut page = fs::read(&state).unwrap();
    for slot in [0, 2048] {
        let length = u32::from_le_bytes(page[slot + 32..slot + 36].try_into().unwrap()) as usize;
        page[slot + 8..slot + 16].fill(0xff);
        let mut sum = crc32fast::Hasher::new();
        sum.update(&page[slot..slot + 40]);
        sum.update(&page[slot + 48..slot + 48 + length]);
        page[slot + 40..slot + 44].copy_from_slice(&sum.finalize().to_le_bytes());
    }
    fs::write(&state, page).unwrap();
    let fault = store.acquire(&name("a"), &once(owner())).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Corrupt);
    store.evict(&name("a")).await.unwrap();
    assert!(is_free(&store, &name("a")).await);
}
