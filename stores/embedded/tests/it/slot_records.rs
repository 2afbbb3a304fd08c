//! The record of slots outlives its holder and its boot, goes away after its time, and takes the place of nothing
//! else.

use std::{
    fs::{self, File, Permissions},
    os::unix::{
        fs::{MetadataExt, PermissionsExt, symlink},
        net::UnixDatagram,
    },
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use tenure_core::{Clock, Fault, FaultKind, Store, proto::Owner, store::SlotsWritten};
use tenure_embedded::EmbeddedStore;

use crate::support::{TestMachine, files, give_back, name, open, owner, put, take, until};

const KEPT: Duration = Duration::from_secs(3_600);
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) async fn write(store: &dyn Store, lock: &str, owner: &Owner, text: &str) {
    let written = put(store, &name(lock), owner, (text, KEPT)).await;
    assert_eq!(written.unwrap(), SlotsWritten::Written);
}

pub(crate) async fn read(store: &dyn Store, lock: &str) -> Option<String> {
    store.read_slots(&name(lock)).await.unwrap().text
}

/// The files with records.
fn records(dir: &Path) -> Vec<PathBuf> {
    let mut found = files(dir);
    found.retain(|path| path.extension().is_some_and(|ending| ending == "sl"));
    found
}

/// A store with one record, of a name that is held.
async fn scene() -> (tempfile::TempDir, EmbeddedStore, Owner, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(dir.path().join("store")).unwrap();
    let (owner, _) = take(&store, &name("a")).await;
    write(&store, "a", &owner, "before").await;
    let path = records(dir.path()).remove(0);
    (dir, store, owner, path)
}

#[tokio::test]
async fn a_record_outlives_reboots_and_is_replaced_in_the_next_boot() {
    let dir = tempfile::tempdir().unwrap();
    let machine = TestMachine::default();
    let open = || EmbeddedStore::open_on(dir.path(), Arc::new(machine.clone())).unwrap();
    let before = open();
    let (old, _) = take(&before, &name("a")).await;
    write(&before, "a", &old, "before").await;
    machine.reboot(dir.path());
    let after = open();
    assert_eq!(read(&after, "a").await.as_deref(), Some("before"));
    let late = put(&after, &name("a"), &old, ("late", KEPT)).await.unwrap();
    assert_eq!(late, SlotsWritten::NotHeld, "its hold ended with the boot");
    let (new, _) = take(&after, &name("a")).await;
    write(&after, "a", &new, "after").await;
    machine.reboot(dir.path());
    drop((before, after));
    assert_eq!(read(&open(), "a").await.as_deref(), Some("after"));
}

#[tokio::test]
async fn neither_a_read_nor_a_write_of_another_creates_anything() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let before = files(dir.path());
    assert_eq!(read(&store, "a").await, None);
    let written = put(&store, &name("a"), &owner(), ("text", KEPT)).await.unwrap();
    assert_eq!(written, SlotsWritten::NotHeld);
    assert_eq!(files(dir.path()), before);
    assert!(!dir.path().join("slots").exists());
    let (owner, _) = take(&store, &name("a")).await;
    write(&store, "a", &owner, "text").await;
    assert_eq!(records(dir.path()).len(), 1);
    let unfinished = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "tmp");
    assert!(!files(dir.path()).iter().any(unfinished), "nothing unfinished stays");
}

#[tokio::test]
async fn a_record_belongs_to_those_who_share_the_store() {
    let dir = tempfile::tempdir().unwrap();
    for (mode, file) in [(0o700, 0o600), (0o2770, 0o660)] {
        let place = dir.path().join(format!("{mode:o}"));
        fs::create_dir(&place).unwrap();
        fs::set_permissions(&place, Permissions::from_mode(mode)).unwrap();
        let store = EmbeddedStore::open(&place).unwrap();
        let (owner, _) = take(&store, &name("a")).await;
        write(&store, "a", &owner, "text").await;
        let record = records(&place).remove(0);
        let modes = record.ancestors().take(3).map(|path| path.metadata().unwrap().mode() & 0o7777);
        assert_eq!(modes.collect::<Vec<_>>(), [file, mode, mode]);
    }
}

/// What a read and a write say, which take no time.
async fn refusals(store: &EmbeddedStore, owner: &Owner) -> [Fault; 2] {
    let lock = name("a");
    let calls = async {
        let read = store.read_slots(&lock).await.map(drop).unwrap_err();
        let written = put(store, &lock, owner, ("new", KEPT)).await.map(drop);
        [read, written.unwrap_err()]
    };
    tokio::time::timeout(PATIENCE, calls).await.expect("nothing waits for it")
}

#[tokio::test]
async fn what_lies_in_place_of_a_record_is_refused_and_stays() {
    let (dir, store, owner, path) = scene().await;
    let (aside, precious) = (dir.path().join("aside"), dir.path().join("precious"));
    fs::write(&precious, "worth keeping\n".repeat(400)).unwrap();
    fs::rename(&path, &aside).unwrap();
    let others: [&dyn Fn(); 7] = [
        &|| symlink(&precious, &path).unwrap(),
        // Not even to a record.
        &|| symlink(&aside, &path).unwrap(),
        &|| assert!(Command::new("mkfifo").arg(&path).status().unwrap().success()),
        &|| drop(UnixDatagram::bind(&path).unwrap()),
        &|| fs::create_dir(&path).unwrap(),
        &|| fs::hard_link(&precious, &path).unwrap(),
        &|| fs::write(&path, "").unwrap(),
    ];
    for put in others {
        put();
        let before = path.symlink_metadata().unwrap();
        for fault in refusals(&store, &owner).await {
            assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
            assert!(fault.message().contains(path.to_str().unwrap()), "{fault:#}");
            assert!(fault.help().contains("what put it there"), "{fault:#}");
        }
        let after = path.symlink_metadata().unwrap();
        assert_eq!((after.ino(), after.len()), (before.ino(), before.len()), "it stays");
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
    }
    assert_eq!(fs::read_to_string(&precious).unwrap(), "worth keeping\n".repeat(400));
    fs::rename(&aside, &path).unwrap();
    assert_eq!(read(&store, "a").await.as_deref(), Some("before"));
}

#[tokio::test]
async fn a_link_in_place_of_a_directory_of_records_is_not_followed() {
    let (dir, store, owner, path) = scene().await;
    let (_elsewhere, _other, _, target) = scene().await;
    for up in [1, 2] {
        let (path, target) =
            (path.ancestors().nth(up).unwrap(), target.ancestors().nth(up).unwrap());
        let before: Vec<_> = files(target);
        let aside = dir.path().join("aside");
        fs::rename(path, &aside).unwrap();
        symlink(target, path).unwrap();
        for fault in refusals(&store, &owner).await {
            assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
            assert!(fault.message().contains(path.to_str().unwrap()), "{fault:#}");
        }
        assert_eq!(files(target), before);
        fs::remove_file(path).unwrap();
        fs::rename(&aside, path).unwrap();
    }
    write(&store, "a", &owner, "new").await;
}

#[tokio::test]
async fn a_record_that_is_damaged_or_of_another_name_is_refused_and_stays() {
    let (dir, store, owner, path) = scene().await;
    let (b, _) = take(&store, &name("b")).await;
    write(&store, "b", &b, "of b").await;
    let of_b = records(dir.path()).into_iter().find(|found| *found != path).unwrap();
    let mut damaged = fs::read(&path).unwrap();
    damaged[60] ^= 1;
    for (content, why) in [(damaged, "makes no sense"), (fs::read(of_b).unwrap(), "another lock")] {
        fs::write(&path, &content).unwrap();
        for fault in refusals(&store, &owner).await {
            assert_eq!(fault.kind(), FaultKind::Corrupt, "{fault:#}");
            assert!(fault.message().contains(path.to_str().unwrap()), "{fault:#}");
            assert!(fault.message().contains(why), "{fault:#}");
        }
        assert_eq!(fs::read(&path).unwrap(), content);
    }
}

#[tokio::test]
async fn records_stay_when_a_store_begins_anew_without_its_clock() {
    let (dir, store, ..) = scene().await;
    drop(store);
    let place = dir.path().join("store");
    fs::remove_file(place.join("clock")).unwrap();
    fs::remove_dir_all(place.join("boots")).unwrap();
    assert_eq!(read(&EmbeddedStore::open(&place).unwrap(), "a").await.as_deref(), Some("before"));
    // What merely has the name of their directory is no store's.
    let other = tempfile::tempdir().unwrap();
    fs::create_dir(other.path().join("slots")).unwrap();
    fs::write(other.path().join("slots/machines.txt"), "").unwrap();
    let fault = EmbeddedStore::open(other.path()).unwrap_err();
    assert!(fault.message().contains("is not a store of tenure"), "{fault:#}");
}

#[tokio::test]
async fn records_go_when_their_time_is_over_and_nothing_else_goes() {
    // Each opened store looks at some files at random.
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let machine = TestMachine::default();
    let open = || EmbeddedStore::open_on(dir.path(), Arc::new(machine.clone())).unwrap();
    let store = open();
    for (lock, kept) in [("short", KEPT), ("long", KEPT * 10)] {
        let (owner, _) = take(&store, &name(lock)).await;
        put(&store, &name(lock), &owner, (lock, kept)).await.unwrap();
        give_back(&store, &name(lock), &owner).await;
    }
    let find = |text: &str| {
        let has = |path: &PathBuf| {
            let content = fs::read(path).unwrap();
            content.windows(text.len()).any(|part| part == text.as_bytes())
        };
        records(dir.path()).into_iter().find(has).unwrap()
    };
    let (short, long) = (find("short"), find("long"));
    let shelf = short.parent().unwrap();
    // Beside it: a copy that has the name of another record, a link to it, and things that look alike.
    let copy = shelf.join(format!("{:032x}.sl", 1));
    fs::copy(&short, &copy).unwrap();
    let link = shelf.join(format!("{:032x}.sl", 2));
    symlink(&short, &link).unwrap();
    let backup = short.with_extension("sl.old");
    fs::copy(&short, &backup).unwrap();
    let unfinished = shelf.join(format!("{:032x}.{:016x}.tmp", 3, 4));
    fs::write(&unfinished, "").unwrap();
    let then = SystemTime::now() - KEPT;
    File::options().write(true).open(&unfinished).unwrap().set_modified(then).unwrap();

    // Nothing goes before its time.
    until("what was never completed is removed", async || {
        drop(open());
        !unfinished.exists()
    })
    .await;
    assert_eq!(read(&store, "short").await.as_deref(), Some("short"));
    machine.clock.advance(KEPT * 2);
    assert_eq!(read(&store, "short").await, None);
    until("the record is removed", async || {
        drop(open());
        !short.exists()
    })
    .await;
    assert_eq!(read(&store, "long").await.as_deref(), Some("long"));
    assert!([&long, &copy, &backup].iter().all(|path| path.exists()));
    assert!(link.symlink_metadata().is_ok());
    // A store that is used tidies, too: in proportion to the names that get a file.
    machine.clock.advance(KEPT * 20);
    let began = Instant::now();
    for number in 0.. {
        let lock = name(&format!("new {number}"));
        let (owner, _) = take(&store, &lock).await;
        give_back(&store, &lock, &owner).await;
        if !long.exists() {
            break;
        }
        assert!(began.elapsed() < PATIENCE * 10, "it stays");
    }
    assert_eq!(store.read_slots(&name("long")).await.unwrap().now, machine.clock.wall());
}

#[tokio::test]
async fn records_of_names_that_are_not_used_go_after_one_opening_if_they_are_few() {
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let machine = TestMachine::default();
    let open = || EmbeddedStore::open_on(dir.path(), Arc::new(machine.clone())).unwrap();
    let store = open();
    for number in 0..5 {
        let lock = format!("nightly {number}");
        let (owner, _) = take(&store, &name(&lock)).await;
        write(&store, &lock, &owner, "ran").await;
    }
    drop((store, open()));
    assert_eq!(records(dir.path()).len(), 5, "none goes before its time");
    machine.clock.advance(KEPT * 2);
    drop(open());
    assert!(records(dir.path()).is_empty());
}

#[tokio::test]
async fn a_record_that_another_process_keeps_locked_is_not_replaced() {
    let (_dir, store, owner, path) = scene().await;
    let file = File::open(&path).unwrap();
    file.lock().unwrap();
    let fault = put(&store, &name("a"), &owner, ("new", KEPT)).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unreachable);
    assert!(fault.message().contains(path.to_str().unwrap()), "{fault:#}");
    assert_eq!(read(&store, "a").await.as_deref(), Some("before"));
    drop(file);
    write(&store, "a", &owner, "new").await;
}
