//! Whoever was told another boot id: processes of an earlier boot are gone, those of a container
//! with a boot id of its own are not.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use tenure_core::{Clock, Fault, FaultKind, clock::Sleep, proto::Timestamp};
use tenure_embedded::{EmbeddedStore, FileSystem, Machine};

use crate::{
    errors::with_mount,
    support::{TestMachine, files, is_free, name, open, take, until},
};

fn open_on(dir: &Path, machine: &TestMachine) -> Result<EmbeddedStore, Fault> {
    EmbeddedStore::open_on(dir, Arc::new(machine.clone()))
}

fn boot_dir(dir: &Path, number: u32) -> PathBuf {
    dir.join("boots").join(format!("{number:032x}"))
}

#[tokio::test]
async fn a_boot_whose_members_live_is_left_alone_and_the_other_refused() {
    let dir = tempfile::tempdir().unwrap();
    let machine = TestMachine::default();
    let host = open_on(dir.path(), &machine).unwrap();
    let (_, first) = take(&host, &name("a")).await;
    let before = files(dir.path());
    let container = TestMachine::default();
    container.another_boot_id();

    let refused = open_on(dir.path(), &container).unwrap_err();
    assert_eq!(refused.kind(), FaultKind::Misconfigured);
    assert!(refused.message().contains("another boot id (00000000…)"), "{refused:#}");
    assert!(refused.message().contains(dir.path().to_str().unwrap()), "{refused:#}");
    assert!(refused.help().contains("/proc/sys/kernel/random/boot_id"), "{refused:#}");
    assert_eq!(files(dir.path()), before, "nothing was touched");
    assert!(!is_free(&open_on(dir.path(), &machine).unwrap(), &name("a")).await);

    // Once nobody is left there, the one boot is as dead as any. A child that another test is about to
    // start may have a copy of the lock for a moment.
    drop(host);
    until("the boot is dead", async || open_on(dir.path(), &container).is_ok()).await;
    let (_, next) = take(&open_on(dir.path(), &container).unwrap(), &name("a")).await;
    assert!(next > first);
    assert!(!boot_dir(dir.path(), 1).exists());
}

/// A machine on which whoever is about to join stops, until told to go on.
#[derive(Debug)]
struct Hesitant {
    below: TestMachine,
    joins: Barrier,
    goes_on: Barrier,
    first: AtomicBool,
}

impl Clock for Hesitant {
    fn now(&self) -> Timestamp {
        // The first question for the time comes with joining.
        if self.first.swap(false, Ordering::SeqCst) {
            self.joins.wait();
            self.goes_on.wait();
        }
        self.below.clock.now()
    }

    fn wall(&self) -> u64 {
        self.below.clock.wall()
    }

    fn sleep_until(&self, until: Timestamp) -> Sleep {
        self.below.clock.sleep_until(until)
    }
}

impl Machine for Hesitant {
    fn clock(&self) -> &dyn Clock {
        self
    }

    fn boot_id(&self) -> Result<[u8; 16], Fault> {
        self.below.boot_id()
    }

    fn file_system(&self, path: &Path) -> io::Result<FileSystem> {
        self.below.file_system(path)
    }

    fn read_at(&self, file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.below.read_at(file, bytes, offset)
    }

    fn write_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.below.write_at(file, bytes, offset)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.below.sync(file)
    }
}

#[tokio::test]
async fn of_two_boots_that_open_a_store_at_once_one_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let hesitant = Arc::new(Hesitant {
        below: TestMachine::default(),
        joins: Barrier::new(2),
        goes_on: Barrier::new(2),
        first: AtomicBool::new(true),
    });
    let container = TestMachine::default();
    container.another_boot_id();
    let (path, machine) = (dir.path().to_owned(), hesitant.clone());
    let host = thread::spawn(move || EmbeddedStore::open_on(path, machine));
    hesitant.joins.wait();
    // Nobody can see it yet, so whoever comes now is let in, and it must look after it has joined.
    let path = dir.path().to_owned();
    let other = thread::spawn(move || open_on(&path, &container));
    let other = other.join().unwrap();
    hesitant.goes_on.wait();
    let opened = [host.join().unwrap(), other];
    assert_eq!(opened.iter().filter(|store| store.is_ok()).count(), 1, "{opened:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_container_with_a_boot_id_of_its_own_is_refused() {
    let around = tempfile::tempdir().unwrap();
    let dir = around.path().join("store");
    let id = around.path().join("id");
    fs::write(&id, "11111111-2222-3333-4444-555555555555\n").unwrap();
    let store = EmbeddedStore::open(&dir).unwrap();
    let mount = format!("mount --bind '{}' /proc/sys/kernel/random/boot_id", id.display());
    let open = || with_mount(&mount, &["open", dir.to_str().unwrap()]);
    let Some(mut process) = open() else { return };
    let said = process.says().unwrap();
    assert!(said.contains("Misconfigured") && said.contains("another boot id"), "{said}");
    assert!(said.contains("11111111…"), "{said}");
    drop(store);
    assert_eq!(open().unwrap().says().unwrap(), "opened");
}

#[tokio::test]
async fn of_an_earlier_boot_only_what_is_surely_a_stores_goes() {
    let around = tempfile::tempdir().unwrap();
    let (dir, elsewhere) = (around.path().join("store"), around.path().join("elsewhere"));
    let machine = TestMachine::default();
    let store = open_on(&dir, &machine).unwrap();
    take(&store, &name("a")).await;
    let [state] = &crate::support::state_files(&dir)[..] else { panic!("one name was used") };
    let ours = files(&boot_dir(&dir, 1));
    machine.reboot(&dir);
    drop(store);

    // What somebody put beside them, in each directory.
    let (boots, boot) = (dir.join("boots"), boot_dir(&dir, 1));
    let hash = format!("{:032x}", 0xabc);
    fs::create_dir_all(elsewhere.join("members")).unwrap();
    fs::create_dir_all(elsewhere.join("locks/00")).unwrap();
    fs::create_dir_all(boots.join("leather")).unwrap();
    fs::create_dir_all(boots.join(&hash).join("members.of.a.club")).unwrap();
    fs::create_dir_all(boot.join("members").join(&hash)).unwrap();
    let kept = [
        elsewhere.join("members").join(&hash),
        elsewhere.join("locks/00").join(format!("{hash}.lk")),
        elsewhere.join("floor"),
        boots.join("leather/size 42"),
        boots.join(&hash).join("floor"),
        boot.join("notes"),
        boot.join("members/list.txt"),
        boot.join("locks/keys"),
        state.with_extension("key"),
        boot.join("members").join(&hash).join("minutes"),
    ];
    for path in &kept {
        fs::write(path, "not tenure's").unwrap();
    }
    let linked = format!("{:032x}", 0xdef);
    symlink(&elsewhere, boots.join(&linked)).unwrap();
    fs::create_dir_all(boot_dir(&dir, 7)).unwrap();
    symlink(elsewhere.join("members"), boot_dir(&dir, 7).join("members")).unwrap();
    fs::create_dir_all(boot_dir(&dir, 8).join("members")).unwrap();
    symlink(elsewhere.join("locks"), boot_dir(&dir, 8).join("locks")).unwrap();

    let next = open_on(&dir, &machine).unwrap();
    for path in &kept {
        assert_eq!(fs::read(path).unwrap(), b"not tenure's", "{}", path.display());
    }
    for path in &ours {
        assert!(!path.exists(), "{} is of an earlier boot", path.display());
    }
    assert!(is_free(&next, &name("a")).await);
}

#[tokio::test]
async fn nothing_is_left_of_an_earlier_boot() {
    let dir = tempfile::tempdir().unwrap();
    let machine = TestMachine::default();
    let store = open_on(dir.path(), &machine).unwrap();
    for number in 0..20 {
        take(&store, &name(&format!("name {number}"))).await;
    }
    // Somebody was killed while he made these.
    let boot = boot_dir(dir.path(), 1);
    fs::write(boot.join(format!("floor.{:016x}.tmp", 1)), "").unwrap();
    fs::create_dir(boot.join(format!("locks.{:016x}.tmp", 2))).unwrap();
    fs::create_dir(boot.join("locks").join(format!("ab.{:016x}.tmp", 3))).unwrap();
    machine.reboot(dir.path());
    drop(store);
    let _next = open_on(dir.path(), &machine).unwrap();
    assert!(!boot.exists(), "{:?}", files(&boot));
}

#[test]
fn the_same_boot_is_joined() {
    let dir = tempfile::tempdir().unwrap();
    let (_one, _two) = (open(&dir), open(&dir));
}

#[test]
fn what_was_never_completed_is_removed_when_it_is_old() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(&dir));
    let boot = fs::read_dir(dir.path().join("boots")).unwrap().next().unwrap().unwrap().path();
    let boot_name = boot.file_name().unwrap().to_str().unwrap();
    let unfinished = |stem: &str| format!("{stem}.{:016x}.tmp", 1);
    let workshops = [
        dir.path().join(unfinished("boots")),
        boot.parent().unwrap().join(unfinished(boot_name)),
        boot.join(unfinished("locks")),
        boot.join("locks").join(unfinished("ab")),
    ];
    for (workshop, stem) in workshops.iter().zip(["boots", boot_name, "locks", "ab"]) {
        fs::create_dir_all(workshop.join(stem)).unwrap();
    }
    let file = dir.path().join(unfinished("clock"));
    fs::write(&file, "").unwrap();
    let somebodys = dir.path().join(unfinished("notes"));
    fs::write(&somebodys, "").unwrap();
    let all: Vec<_> = workshops.into_iter().chain([file]).collect();
    drop(open(&dir));
    assert!(all.iter().all(|path| path.exists()), "somebody may be about to complete them");
    for path in all.iter().chain([&somebodys]) {
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        File::open(path).unwrap().set_modified(then).unwrap();
    }
    drop(open(&dir));
    assert!(all.iter().all(|path| !path.exists()), "{:?}", files(dir.path()));
    assert!(somebodys.exists());
}
