//! A history outlives its lock and its boot, goes away after its time, and loses nothing to others that write it.

use std::{
    collections::BTreeSet,
    fs::{self, File, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use futures_util::future::join_all;
use tenure_core::{
    Fault, FaultKind, Store,
    proto::history::{Event, Retention},
    store::HistoryWrite,
};
use tenure_embedded::EmbeddedStore;

use crate::{
    child::{Process, say, wait_to_go_on},
    support::{TestMachine, files, give_back, is_free, name, open, take, until},
};

pub(crate) const KEPT: Duration = Duration::from_secs(3_600);
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
pub(crate) fn retention(most: u32, time: Duration) -> Retention {
    Retention::new(most, time).unwrap()
}

pub(crate) fn write(text: &str, retention: Retention) -> HistoryWrite {
    HistoryWrite { events: vec![(text.to_owned(), Duration::ZERO)], retention }
}

pub(crate) async fn try_add(store: &dyn Store, text: &str) -> Result<(), Fault> {
    store.add_history(&name("a"), &write(text, retention(1_000, KEPT))).await
}

pub(crate) async fn add(store: &dyn Store, text: &str) {
    try_add(store, text).await.unwrap();
}

pub(crate) async fn texts_of(store: &dyn Store, lock: &str) -> Vec<String> {
    let told = store.read_history(&name(lock)).await.unwrap();
    told.events.into_iter().map(|event| event.text).collect()
}

pub(crate) async fn texts(store: &dyn Store) -> Vec<String> {
    texts_of(store, "a").await
}

/// The files with histories.
pub(crate) fn histories(dir: &Path) -> Vec<PathBuf> {
    let mut found = files(dir);
    found.retain(|path| path.extension().is_some_and(|ending| ending == "hi"));
    found
}

pub(crate) fn nothing_unfinished(dir: &Path) -> bool {
    !files(dir).iter().any(|path| path.extension().is_some_and(|ending| ending == "tmp"))
}

/// A store with a history of one event.
pub(crate) async fn scene() -> (tempfile::TempDir, EmbeddedStore, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(dir.path().join("store")).unwrap();
    add(&store, "before").await;
    let path = histories(dir.path()).remove(0);
    (dir, store, path)
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

/// Adds by several at a time, again and again, and checks that the events of each round are all there after it. As
/// three add at a time, a file with room for twenty is replaced in the middle of a round.
async fn add_in_rounds(lock_of: impl Fn(u32) -> String) {
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let stores: Vec<_> = (0..3).map(|_| open(&dir)).collect();
    for round in 0..300 {
        let lock = lock_of(round);
        let added: Vec<_> = (0..3).map(|who| format!("{round} {who}")).collect();
        let adds = stores.iter().zip(&added).map(async |(store, text)| {
            store.add_history(&name(&lock), &write(text, retention(5, KEPT))).await.unwrap();
        });
        join_all(adds).await;
        let told = texts_of(&stores[0], &lock).await;
        let last: BTreeSet<_> = told.iter().skip(told.len().saturating_sub(3)).collect();
        assert_eq!(last, added.iter().collect());
    }
}

#[tokio::test]
async fn each_event_is_there_as_soon_as_it_was_added_however_often_the_file_is_replaced() {
    add_in_rounds(|_| "a".to_owned()).await;
}

#[tokio::test]
async fn several_that_add_the_first_event_of_a_name_make_one_file() {
    add_in_rounds(|round| format!("new {round}")).await;
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
    // Each opened store looks at some files at random.
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
async fn histories_of_names_that_are_not_used_go_after_a_few_openings() {
    let machine = TestMachine::default();
    for count in [5, 40] {
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let open = || EmbeddedStore::open_on(dir.path(), Arc::new(machine.clone())).unwrap();
        let store = open();
        for number in 0..count {
            let name = name(&format!("nightly {number}"));
            store.add_history(&name, &write("ran", retention(10, KEPT))).await.unwrap();
        }
        drop((store, open()));
        assert_eq!(histories(dir.path()).len(), count, "none goes before its time");
        machine.clock.advance(KEPT * 2);
        drop(open());
        // Each opening looks at so many at most: none takes long.
        assert_eq!(histories(dir.path()).len(), count.saturating_sub(16));
        // By then, some of the directories are empty.
        (0..60).for_each(|_| drop(open()));
        assert!(histories(dir.path()).is_empty());
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
