//! A history outlives its lock and its boot, goes away after its time, loses nothing to others that write it, and takes
//! the place of nothing else.

use std::{
    collections::BTreeSet,
    fs::{self, File, Permissions},
    io,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, chown, symlink},
        net::UnixDatagram,
    },
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use futures_util::future::join_all;
use tenure_core::{
    Clock, Fault, FaultKind, Store,
    proto::history::{Event, Retention},
    store::HistoryWrite,
};
use tenure_embedded::{EmbeddedStore, FileSystem, Machine, ThisMachine};

use crate::{
    child::{Process, i_am_root, say, wait_to_go_on},
    support::{TestMachine, files, give_back, is_free, name, open, take, until},
};

const KEPT: Duration = Duration::from_secs(3_600);
const PATIENCE: Duration = Duration::from_secs(10);
/// What a file has before the text of its first event: a head for a name of one byte, and the beginning of a frame.
const BEFORE_TEXT: usize = 17 + 40;

fn retention(most: u32, time: Duration) -> Retention {
    Retention::new(most, time).unwrap()
}

fn write(text: &str, retention: Retention) -> HistoryWrite {
    HistoryWrite { events: vec![(text.to_owned(), Duration::ZERO)], retention }
}

async fn try_add(store: &dyn Store, text: &str) -> Result<(), Fault> {
    store.add_history(&name("a"), &write(text, retention(1_000, KEPT))).await
}

async fn add(store: &dyn Store, text: &str) {
    try_add(store, text).await.unwrap();
}

async fn texts_of(store: &dyn Store, lock: &str) -> Vec<String> {
    let told = store.read_history(&name(lock)).await.unwrap();
    told.events.into_iter().map(|event| event.text).collect()
}

async fn texts(store: &dyn Store) -> Vec<String> {
    texts_of(store, "a").await
}

/// The files with histories.
fn histories(dir: &Path) -> Vec<PathBuf> {
    let mut found = files(dir);
    found.retain(|path| path.extension().is_some_and(|ending| ending == "hi"));
    found
}

fn nothing_unfinished(dir: &Path) -> bool {
    !files(dir).iter().any(|path| path.extension().is_some_and(|ending| ending == "tmp"))
}

/// A store with a history of one event.
async fn scene() -> (tempfile::TempDir, EmbeddedStore, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(dir.path().join("store")).unwrap();
    add(&store, "before").await;
    let path = histories(dir.path()).remove(0);
    (dir, store, path)
}

/// What a read and a write say, which take no time.
async fn refusals(store: &EmbeddedStore) -> [Fault; 2] {
    let calls = async {
        let read = store.read_history(&name("a")).await.map(drop).unwrap_err();
        [read, try_add(store, "new").await.unwrap_err()]
    };
    tokio::time::timeout(PATIENCE, calls).await.expect("nothing waits for it")
}

/// Adds many events, as a process of its own.
pub(crate) async fn add_many(dir: &str, who: &str, count: &str, most: &str) {
    let store = EmbeddedStore::open(dir).unwrap();
    let retention = retention(most.parse().unwrap(), KEPT);
    say("opened");
    wait_to_go_on();
    for number in 0..count.parse::<u32>().unwrap() {
        let write = write(&format!("{who} {number}"), retention);
        store.add_history(&name("a"), &write).await.unwrap();
    }
    say("done");
}

/// What several processes add at the same time, of which `most` entries are kept.
async fn added_by_several(count: usize, most: u32) -> (Vec<String>, Vec<u8>) {
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let path = dir.path().to_str().unwrap();
    let (count_text, most_text) = (count.to_string(), most.to_string());
    let mut processes = ["p", "q", "r"]
        .map(|who| Process::start(&["add many to a history", path, who, &count_text, &most_text]));
    let store = open(&dir);
    for process in &mut processes {
        assert_eq!(process.says().unwrap(), "opened");
    }
    processes.iter_mut().for_each(Process::go_on);
    // And by two tasks of one process.
    let adds = async |who: &str| {
        for number in 0..count {
            let write = write(&format!("{who} {number}"), retention(most, KEPT));
            store.add_history(&name("a"), &write).await.unwrap();
        }
    };
    tokio::join!(adds("s"), adds("t"));
    for process in &mut processes {
        assert_eq!(process.says().unwrap(), "done");
    }
    assert!(nothing_unfinished(dir.path()));
    (texts(&store).await, fs::read(histories(dir.path()).remove(0)).unwrap())
}

#[tokio::test]
async fn what_several_processes_add_at_a_time_is_all_there_in_order() {
    let (told, _) = added_by_several(100, 1_000).await;
    for who in ["p", "q", "r", "s", "t"] {
        let of: Vec<_> = told.iter().filter(|text| text.starts_with(who)).cloned().collect();
        assert_eq!(of, (0..100).map(|number| format!("{who} {number}")).collect::<Vec<_>>());
    }
    assert_eq!(told.len(), 500);
}

#[tokio::test]
async fn what_is_added_while_a_file_is_replaced_is_not_lost() {
    // Each file is replaced after ten events or so.
    let (told, _) = added_by_several(200, 5).await;
    assert_eq!(told.len(), 10, "{told:?}");
    for who in ["p", "q", "r", "s", "t"] {
        let of: Vec<_> = told.iter().filter(|text| text.starts_with(who)).cloned().collect();
        let last: Vec<_> = (200 - of.len()..200).map(|number| format!("{who} {number}")).collect();
        assert_eq!(of, last, "the last ones of each, without a gap");
    }
}

#[tokio::test]
async fn each_of_many_events_is_there_until_enough_came_after_it() {
    // No event is lost among writers that replace the file all the time: the last of each is seen at once.
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let stores: Vec<_> = (0..4).map(|_| open(&dir)).collect();
    let adds = stores.iter().enumerate().map(|(who, store)| async move {
        for number in 0..100 {
            let text = format!("{who} {number}");
            let write = write(&text, retention(20, KEPT));
            store.add_history(&name("a"), &write).await.unwrap();
            // The three others add at most one more event each until this is read, several times over.
            assert!(texts(store).await.contains(&text), "{text}");
        }
    });
    join_all(adds).await;
}

#[tokio::test]
async fn a_file_is_bounded_by_the_number_of_events_and_their_length() {
    for (most, length) in [(1, 1_024), (30, 1_024), (30, 4)] {
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let store = open(&dir);
        let (mut longest, mut inodes) = (0, BTreeSet::new());
        for number in 0..200 {
            let text = format!("{number:0length$}");
            store.add_history(&name("a"), &write(&text, retention(most, KEPT))).await.unwrap();
            let found = histories(dir.path())[0].metadata().unwrap();
            longest = longest.max(found.len());
            inodes.insert(found.ino());
        }
        let (kept, length) = (u64::from(2 * most), u64::try_from(length).unwrap());
        assert!(longest <= 2 * kept * 1_024, "{longest} bytes for {kept}");
        assert!(longest <= 17 + 2 * kept * (44 + length), "{longest} bytes for {kept}");
        assert!(inodes.len() as u64 <= 400 / kept + 2, "it is not replaced each time");
        let told = texts(&store).await;
        assert_eq!(told.len() as u64, kept);
        assert!(told.last().is_some_and(|text| text.ends_with("0199")));
    }
}

#[tokio::test]
async fn events_whose_time_is_over_do_not_stay_in_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let machine = TestMachine::default();
    let store = EmbeddedStore::open_on(dir.path(), Arc::new(machine.clone())).unwrap();
    let content =
        || String::from_utf8_lossy(&fs::read(&histories(dir.path())[0]).unwrap()).into_owned();
    for number in 0..24 {
        add(&store, &format!("event {number};")).await;
        machine.clock.advance(KEPT / 8);
    }
    let told = texts(&store).await;
    assert_eq!(told.first().map(String::as_str), Some("event 15;"));
    assert!(!content().contains("event 12;"), "{}", content());
    // Also if it is much later, and by a writer that keeps more.
    machine.clock.advance(KEPT * 3);
    let write = write("new", retention(1_000, KEPT * 1_000));
    store.add_history(&name("a"), &write).await.unwrap();
    assert_eq!(texts(&store).await, ["new"]);
    assert!(!content().contains("event"), "{}", content());
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

#[tokio::test]
async fn a_history_outlives_reboots_and_goes_on_in_a_directory_of_an_older_version() {
    let dir = tempfile::tempdir().unwrap();
    let machine = TestMachine::default();
    let open = || EmbeddedStore::open_on(dir.path(), Arc::new(machine.clone())).unwrap();
    let before = open();
    let (held, _) = take(&before, &name("a")).await;
    // Such a directory has none.
    assert!(texts(&before).await.is_empty());
    assert!(!dir.path().join("history").exists(), "a read creates nothing");
    add(&before, "one").await;
    machine.reboot(dir.path());
    let after = open();
    add(&after, "two").await;
    drop((before, after));
    assert_eq!(texts(&open()).await, ["one", "two"]);
    assert!(is_free(&open(), &name("a")).await, "{held:?} ended with the boot");
}

#[tokio::test]
async fn histories_stay_when_a_store_begins_anew_without_its_clock() {
    let (dir, store, _) = scene().await;
    drop(store);
    let place = dir.path().join("store");
    fs::remove_file(place.join("clock")).unwrap();
    fs::remove_dir_all(place.join("boots")).unwrap();
    assert_eq!(texts(&EmbeddedStore::open(&place).unwrap()).await, ["before"]);
    // What merely has the name of their directory is no store's.
    let other = tempfile::tempdir().unwrap();
    fs::create_dir(other.path().join("history")).unwrap();
    fs::write(other.path().join("history/machines.txt"), "").unwrap();
    let fault = EmbeddedStore::open(other.path()).unwrap_err();
    assert!(fault.message().contains("is not a store of tenure"), "{fault:#}");
}

#[tokio::test]
async fn a_history_belongs_to_those_who_share_the_store() {
    let dir = tempfile::tempdir().unwrap();
    for (mode, file) in [(0o700, 0o600), (0o2770, 0o660)] {
        let place = dir.path().join(format!("{mode:o}"));
        fs::create_dir(&place).unwrap();
        fs::set_permissions(&place, Permissions::from_mode(mode)).unwrap();
        let store = EmbeddedStore::open(&place).unwrap();
        // Those that are made, and those that take the place of others.
        for text in ["one", "two", "three"] {
            let write = write(text, retention(1, KEPT));
            store.add_history(&name("a"), &write).await.unwrap();
            let path = histories(&place).remove(0);
            let modes =
                path.ancestors().take(3).map(|path| path.metadata().unwrap().mode() & 0o7777);
            assert_eq!(modes.collect::<Vec<_>>(), [file, mode, mode]);
        }
    }
}

#[tokio::test]
async fn histories_go_when_their_time_is_over_and_nothing_else_goes() {
    // Each opened store tidies a directory of its own.
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let machine = TestMachine::default();
    let open = || EmbeddedStore::open_on(dir.path(), Arc::new(machine.clone())).unwrap();
    let store = open();
    let mut paths = BTreeSet::new();
    let mut new_path = || {
        let all: BTreeSet<_> = histories(dir.path()).into_iter().collect();
        let new = all.difference(&paths).next().cloned();
        paths = all;
        new.unwrap()
    };
    let mut added = Vec::new();
    for (lock, time) in [("short", KEPT), ("long", KEPT * 10)] {
        store.add_history(&name(lock), &write(lock, retention(10, time))).await.unwrap();
        added.push(new_path());
    }
    let [short, long] = &added[..] else { panic!("{added:?}") };
    let shelf = short.parent().unwrap();
    // Beside it: a copy that has the name of another history, a link to it, and things that look alike.
    let copy = shelf.join(format!("{:032x}.hi", 1));
    fs::copy(short, &copy).unwrap();
    let link = shelf.join(format!("{:032x}.hi", 2));
    symlink(short, &link).unwrap();
    // What a loss of power left of one.
    let empty = shelf.join(format!("{:032x}.hi", 3));
    fs::write(&empty, "").unwrap();
    fs::set_permissions(&empty, Permissions::from_mode(0o600)).unwrap();
    let backup = short.with_extension("hi.old");
    fs::copy(short, &backup).unwrap();
    let unfinished = [
        shelf.join(format!("{:032x}.{:016x}.tmp", 3, 4)),
        dir.path().join(format!("history/ab.{:016x}.tmp", 5)),
    ];
    let then = SystemTime::now() - KEPT;
    for path in &unfinished {
        fs::write(path, "").unwrap();
        File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
    }

    // Nothing goes before its time.
    until("what was never completed is removed", async || {
        drop(open());
        !unfinished.iter().any(|path| path.exists())
    })
    .await;
    assert_eq!(texts_of(&store, "short").await, ["short"]);
    machine.clock.advance(KEPT * 2);
    assert!(texts_of(&store, "short").await.is_empty());
    until("the histories are removed", async || {
        drop(open());
        !short.exists() && !empty.exists()
    })
    .await;
    assert_eq!(texts_of(&store, "long").await, ["long"]);
    assert!([long, &copy, &backup].iter().all(|path| path.exists()));
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
}

#[tokio::test]
async fn an_event_that_is_too_long_is_refused() {
    let (dir, store, path) = scene().await;
    let before = fs::read(&path).unwrap();
    let fault = try_add(&store, &"e".repeat(Event::MAX + 1)).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    let nothing = HistoryWrite { events: Vec::new(), retention: retention(1, KEPT) };
    store.add_history(&name("b"), &nothing).await.unwrap();
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(histories(dir.path()), [path], "no event needs no file");
}
