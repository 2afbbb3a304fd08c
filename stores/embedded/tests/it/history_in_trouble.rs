//! A history whose file is damaged, locked or not a history, and one on a full disk: what is there stays, and no lock
//! notices.

use std::{
    fs::{self, File, Permissions},
    io,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, chown, symlink},
        net::UnixDatagram,
    },
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use tenure_core::{Clock, Fault, FaultKind, Store, store::HistoryWrite};
use tenure_embedded::{EmbeddedStore, FileSystem, Machine, ThisMachine};
use tokio::sync::RwLock;

use crate::{
    child::i_am_root,
    history::{
        KEPT, PATIENCE, add, histories, nothing_unfinished, retention, scene, texts, try_add, write,
    },
    support::{TestMachine, files, give_back, is_free, name, open, take},
};

/// What a file has before the text of its first event: a head for a name of one byte, and the beginning of a frame.
const BEFORE_TEXT: usize = 17 + 40;

/// What a read and a write say, which take no time.
async fn refusals(store: &EmbeddedStore) -> [Fault; 2] {
    let calls = async {
        let read = store.read_history(&name("a")).await.map(drop).unwrap_err();
        [read, try_add(store, "new").await.unwrap_err()]
    };
    tokio::time::timeout(PATIENCE, calls).await.expect("nothing waits for it")
}

#[tokio::test]
async fn a_torn_tail_costs_the_last_event_alone_and_the_next_one_follows() {
    let (_dir, store, path) = scene().await;
    add(&store, "two").await;
    let short = fs::read(&path).unwrap();
    add(&store, "three").await;
    let whole = fs::read(&path).unwrap();
    for length in short.len()..whole.len() {
        for zeros in [0, whole.len() - length] {
            // After a loss of power, a file can have its new length without its new content.
            let torn = [&whole[..length], &vec![0; zeros][..]].concat();
            if torn == whole {
                continue;
            }
            fs::write(&path, &torn).unwrap();
            assert_eq!(texts(&store).await, ["before", "two"], "{length} of {}", whole.len());
            add(&store, "four").await;
            assert_eq!(texts(&store).await, ["before", "two", "four"], "{length}");
            let left = fs::read(&path).unwrap();
            assert_eq!(left.len(), short.len() + (whole.len() - short.len()) - 1, "it was cut");
            assert_eq!(left[..short.len()], short);
        }
    }
}

#[tokio::test]
async fn damage_in_the_middle_costs_what_is_damaged() {
    let (_dir, store, path) = scene().await;
    for text in ["two", "three"] {
        add(&store, text).await;
    }
    let mut damaged = fs::read(&path).unwrap();
    damaged[BEFORE_TEXT] ^= 1;
    fs::write(&path, damaged).unwrap();
    assert_eq!(texts(&store).await, ["two", "three"]);
    add(&store, "four").await;
    assert_eq!(texts(&store).await, ["two", "three", "four"]);
}

#[tokio::test]
async fn a_file_without_content_is_what_a_loss_of_power_left() {
    let (_dir, store, path) = scene().await;
    for content in [vec![], vec![0; 10], vec![0; 10_000]] {
        fs::write(&path, content).unwrap();
        assert!(texts(&store).await.is_empty());
        add(&store, "new").await;
        assert_eq!(texts(&store).await, ["new"]);
    }
}

#[tokio::test]
async fn what_lies_in_place_of_a_history_is_refused_and_stays() {
    let (dir, store, path) = scene().await;
    let (aside, precious) = (dir.path().join("aside"), dir.path().join("precious"));
    fs::write(&precious, "worth keeping\n".repeat(400)).unwrap();
    fs::set_permissions(&precious, Permissions::from_mode(0o600)).unwrap();
    fs::rename(&path, &aside).unwrap();
    let mut later = fs::read(&aside).unwrap();
    later[4] = 2;
    let big = [fs::read(&aside).unwrap(), vec![7; 5 << 20]].concat();
    let mode = |mode| fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    let put = |content: &[u8]| {
        fs::write(&path, content).unwrap();
        mode(0o600);
    };
    let others: [(&dyn Fn(), &str); 10] = [
        (&|| symlink(&precious, &path).unwrap(), "what put it there"),
        // Not even to a history.
        (&|| symlink(&aside, &path).unwrap(), "what put it there"),
        (
            &|| assert!(Command::new("mkfifo").arg(&path).status().unwrap().success()),
            "what put it there",
        ),
        (&|| drop(UnixDatagram::bind(&path).unwrap()), "what put it there"),
        (&|| fs::create_dir(&path).unwrap(), "what put it there"),
        (&|| fs::hard_link(&precious, &path).unwrap(), "what put it there"),
        (&|| put(b"x"), "what put it there"),
        (&|| put(&later), "upgrading.md"),
        (&|| put(&big), "the history of this lock then begins anew"),
        (
            &|| {
                fs::copy(&aside, &path).unwrap();
                mode(0o644);
            },
            "what put it there",
        ),
    ];
    for (put, help) in others {
        put();
        let before = path.symlink_metadata().unwrap();
        for fault in refusals(&store).await {
            assert!(
                matches!(fault.kind(), FaultKind::Misconfigured | FaultKind::Corrupt),
                "{fault:#}"
            );
            assert!(fault.message().contains(path.to_str().unwrap()), "{fault:#}");
            assert!(fault.help().contains(help), "{fault:#}");
        }
        // No housekeeping removes it.
        drop(EmbeddedStore::open(dir.path().join("store")).unwrap());
        let after = path.symlink_metadata().unwrap();
        let seen = |found: &fs::Metadata| (found.ino(), found.len(), found.mode());
        assert_eq!(seen(&after), seen(&before), "it stays");
        let held = take(&store, &name("a")).await.0;
        give_back(&store, &name("a"), &held).await;
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
    }
    assert_eq!(fs::read_to_string(&precious).unwrap(), "worth keeping\n".repeat(400));
    fs::rename(&aside, &path).unwrap();
    assert_eq!(texts(&store).await, ["before"]);
}

#[tokio::test]
async fn a_history_of_another_user_is_refused() {
    if !i_am_root() {
        eprintln!("not shown: only root can give a file to another user");
        return;
    }
    let (_dir, store, path) = scene().await;
    chown(&path, Some(61_001), None).unwrap();
    for fault in refusals(&store).await {
        assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
        assert!(fault.message().contains("belongs to another user"), "{fault:#}");
    }
    chown(&path, Some(0), None).unwrap();
    assert_eq!(texts(&store).await, ["before"]);
}

#[tokio::test]
async fn a_history_that_is_damaged_or_of_another_name_is_refused_and_stays() {
    let (dir, store, path) = scene().await;
    store.add_history(&name("b"), &write("of b", retention(10, KEPT))).await.unwrap();
    let of_b = histories(dir.path()).into_iter().find(|found| *found != path).unwrap();
    // The name in the head.
    let mut damaged = fs::read(&path).unwrap();
    damaged[12] ^= 1;
    for (content, why) in [(damaged, "makes no sense"), (fs::read(of_b).unwrap(), "another lock")] {
        fs::write(&path, &content).unwrap();
        for fault in refusals(&store).await {
            assert_eq!(fault.kind(), FaultKind::Corrupt, "{fault:#}");
            assert!(fault.message().contains(path.to_str().unwrap()), "{fault:#}");
            assert!(fault.message().contains(why), "{fault:#}");
        }
        assert_eq!(fs::read(&path).unwrap(), content);
    }
}

#[tokio::test]
async fn a_link_in_place_of_a_directory_of_histories_is_not_followed() {
    let (dir, store, path) = scene().await;
    let (_elsewhere, _other, target) = scene().await;
    for up in [1, 2] {
        let (path, target) =
            (path.ancestors().nth(up).unwrap(), target.ancestors().nth(up).unwrap());
        let before = files(target);
        let aside = dir.path().join("aside");
        fs::rename(path, &aside).unwrap();
        symlink(target, path).unwrap();
        for fault in refusals(&store).await {
            assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
            assert!(fault.message().contains(path.to_str().unwrap()), "{fault:#}");
        }
        assert_eq!(files(target), before);
        fs::remove_file(path).unwrap();
        fs::rename(&aside, path).unwrap();
    }
    assert_eq!(texts(&store).await, ["before"]);
}

/// A machine whose disk has room for so many more bytes.
#[derive(Clone, Debug)]
struct Filling {
    below: TestMachine,
    room: Arc<AtomicUsize>,
}

impl Machine for Filling {
    fn clock(&self) -> &dyn Clock {
        self.below.clock()
    }

    fn boot_id(&self) -> Result<[u8; 16], Fault> {
        self.below.boot_id()
    }

    fn file_system(&self, path: &Path) -> io::Result<FileSystem> {
        ThisMachine.file_system(path)
    }

    fn read_at(&self, file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        ThisMachine.read_at(file, bytes, offset)
    }

    fn write_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        // What is there already takes no more room.
        let there = file.metadata()?.len();
        if offset + bytes.len() as u64 <= there {
            return ThisMachine.write_at(file, bytes, offset);
        }
        let room = self.room.load(Ordering::Relaxed);
        let fits = bytes.len().min(room);
        ThisMachine.write_at(file, &bytes[..fits], offset)?;
        if fits == bytes.len() { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        ThisMachine.sync(file)
    }
}

#[tokio::test]
async fn a_full_disk_leaves_the_history_as_it_was_and_locks_work() {
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let room = Arc::new(AtomicUsize::new(usize::MAX));
    let machine = Filling { below: TestMachine::default(), room: room.clone() };
    let store = EmbeddedStore::open_on(dir.path(), Arc::new(machine)).unwrap();
    let (held, _) = take(&store, &name("a")).await;
    give_back(&store, &name("a"), &held).await;
    for text in ["one", "two"] {
        store.add_history(&name("a"), &write(text, retention(1, KEPT))).await.unwrap();
    }
    let path = histories(dir.path()).remove(0);
    let before = fs::read(&path).unwrap();
    // Appending, in place of the file, and for a name that has none yet.
    let three = |text: &str| {
        let events = ["x", "y", text].map(|text| (text.to_owned(), Duration::ZERO)).to_vec();
        HistoryWrite { events, retention: retention(1, KEPT) }
    };
    let writes =
        [("a", write("three", retention(1, KEPT))), ("a", three("z")), ("new", three("z"))];
    for fits in [0, 1, 20, 50, 70] {
        room.store(fits, Ordering::Relaxed);
        for (lock, write) in &writes {
            let fault = store.add_history(&name(lock), write).await;
            if fault.is_ok() {
                // All of it did fit.
                assert!(fits >= 50, "{fits}");
                fs::write(&path, &before).unwrap();
                continue;
            }
            let fault = fault.unwrap_err();
            assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
            assert!(fault.message().contains("the disk is full"), "{fault:#}");
            assert!(fault.message().contains(".hi"), "{fault:#}");
            assert_eq!(fs::read(&path).unwrap(), before, "{fits}");
            assert_eq!(histories(dir.path()).len(), 1, "{fits}");
            assert!(nothing_unfinished(dir.path()));
        }
        assert_eq!(texts(&store).await, ["one", "two"]);
        let (held, _) = take(&store, &name("a")).await;
        give_back(&store, &name("a"), &held).await;
    }
    room.store(usize::MAX, Ordering::Relaxed);
    store.add_history(&name("a"), &write("three", retention(1, KEPT))).await.unwrap();
    assert_eq!(texts(&store).await, ["two", "three"]);
}

#[tokio::test]
async fn histories_that_stay_locked_take_no_thread_from_a_lock() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let engine = store.for_engine();
    let names: Vec<_> = (0..20).map(|number| name(&format!("name {number}"))).collect();
    let one = write("one", retention(10, KEPT));
    for name in &names {
        store.add_history(name, &one).await.unwrap();
    }
    let kept: Vec<_> = histories(dir.path()).iter().map(|path| File::open(path).unwrap()).collect();
    kept.iter().for_each(|file| file.lock().unwrap());
    let added = AtomicUsize::new(0);
    let adds = join_all(names.iter().map(|name| async {
        let answer = engine.add_history(name, &one).await;
        added.fetch_add(1, Ordering::Relaxed);
        answer
    }));
    let locks = async {
        for name in &names {
            let (held, _) = take(&*engine, name).await;
            give_back(&*engine, name, &held).await;
            assert!(is_free(&store, name).await);
            // A history can be read while another process is at it.
            assert_eq!(store.read_history(name).await.unwrap().events.len(), 1);
        }
        assert_eq!(added.load(Ordering::Relaxed), 0, "the locks waited for histories");
    };
    let (answers, ()) = tokio::join!(adds, locks);
    for fault in answers.into_iter().map(Result::unwrap_err) {
        assert_eq!(fault.kind(), FaultKind::Unreachable, "{fault:#}");
        assert!(fault.message().contains(".hi locked"), "{fault:#}");
        assert!(fault.help().contains("fuser"), "{fault:#}");
    }
    drop(kept);
    store.add_history(&names[0], &one).await.unwrap();
}

/// A machine on which a read of a history waits for as long as somebody writes to the lock.
#[derive(Clone, Debug, Default)]
struct Stalling {
    below: TestMachine,
    stalls: Arc<RwLock<()>>,
}

impl Machine for Stalling {
    fn clock(&self) -> &dyn Clock {
        self.below.clock()
    }

    fn boot_id(&self) -> Result<[u8; 16], Fault> {
        self.below.boot_id()
    }

    fn file_system(&self, path: &Path) -> io::Result<FileSystem> {
        ThisMachine.file_system(path)
    }

    fn read_at(&self, file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut magic = [0; 4];
        ThisMachine.read_at(file, &mut magic, 0)?;
        if magic == *b"tnrH" {
            drop(self.stalls.blocking_read());
        }
        ThisMachine.read_at(file, bytes, offset)
    }

    fn write_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        ThisMachine.write_at(file, bytes, offset)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        ThisMachine.sync(file)
    }
}

#[tokio::test]
async fn histories_that_take_long_to_read_take_no_thread_from_a_lock() {
    let dir = tempfile::tempdir().unwrap();
    let machine = Stalling::default();
    let store = EmbeddedStore::open_on(dir.path(), Arc::new(machine.clone())).unwrap();
    let engine = store.for_engine();
    add(&store, "before").await;
    let read = AtomicUsize::new(0);
    let stall = machine.stalls.write().await;
    // More than there are threads for locks.
    let reads = join_all((0..40).map(|_| async {
        let told = texts(&*engine).await;
        read.fetch_add(1, Ordering::Relaxed);
        told
    }));
    let locks = async {
        let (held, _) = take(&*engine, &name("a")).await;
        give_back(&*engine, &name("a"), &held).await;
        assert_eq!(read.load(Ordering::Relaxed), 0, "the lock waited for histories");
        drop(stall);
    };
    let locks = async { tokio::time::timeout(PATIENCE, locks).await.expect("no lock waits") };
    let (told, ()) = tokio::join!(reads, locks);
    assert!(told.iter().all(|texts| texts == &["before"]), "{told:?}");
}
