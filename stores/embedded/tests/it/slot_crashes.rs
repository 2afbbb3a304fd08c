//! A process that ends in the middle of writing a record of slots, and a machine that loses power there: the record is
//! the old one or the new one, and one that was confirmed is never lost.

use std::{ffi::OsStr, fs, os::unix::fs::MetadataExt, path::Path, sync::Arc, time::Duration};

use tenure_core::store::SlotsWritten;
use tenure_embedded::EmbeddedStore;

use crate::{
    crash_images::{Done, Stop, Stopping, stops_in},
    slot_records::read,
    support::{TestMachine, name, put, state_files, take},
};

const KEPT: Duration = Duration::from_secs(3_600);

/// The texts that are written one after the other. The second one outgrows its slot.
fn texts() -> [String; 4] {
    ["first".to_owned(), "second ".repeat(500), "third".to_owned(), "fourth".to_owned()]
}

struct Written {
    dir: tempfile::TempDir,
    machine: TestMachine,
    stopping: Stopping,
    /// The text that was confirmed last.
    confirmed: Option<String>,
    /// What may have come after it.
    begun: Option<String>,
}

/// Writes all texts until `stop`.
async fn play(stop: Option<Stop>) -> Written {
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let machine = TestMachine::default();
    let stopping = Stopping::new(machine.clone(), None);
    let store = EmbeddedStore::open_on(dir.path(), Arc::new(stopping.clone())).unwrap();
    let (owner, _) = take(&store, &name("a")).await;
    stopping.begin(stop);
    let mut written = Written { dir, machine, stopping, confirmed: None, begun: None };
    for text in texts() {
        written.begun = Some(text.clone());
        match put(&store, &name("a"), &owner, (&text, KEPT)).await {
            Ok(answer) => assert_eq!(answer, SlotsWritten::Written),
            Err(_) => return written,
        }
        written.confirmed = Some(text);
    }
    assert!(stop.is_none(), "it ends where it was stopped: {stop:?}");
    written
}

async fn stops() -> Vec<Stop> {
    let played = play(None).await;
    let stops = stops_in(&played.stopping, 40);
    assert!(stops.len() > 40, "{stops:?}");
    stops
}

async fn check(written: &Written, what: &str) {
    let machine = Arc::new(written.machine.clone());
    let store = EmbeddedStore::open_on(written.dir.path(), machine).unwrap();
    let there = read(&store, "a").await;
    assert!(
        there == written.confirmed || there == written.begun,
        "{what}: {there:?} after {:?} was confirmed and {:?} begun",
        written.confirmed,
        written.begun
    );
}

#[tokio::test]
async fn a_process_killed_in_any_write_leaves_the_old_record_or_the_new_one() {
    for stop in stops().await {
        check(&play(Some(stop)).await, &format!("{stop:?}")).await;
    }
}

/// What of the records is on the disk after a loss of power.
#[derive(Clone, Copy, Debug)]
enum Image {
    /// Names and contents as they were synced.
    Synced,
    /// All names, and contents as they were synced.
    Named,
}

/// What a loss of power leaves of a directory of the store.
fn leave(dir: &Path, done: &Done, image: Image) {
    let inode = dir.metadata().unwrap().ino();
    let kept = done.names.get(&inode).cloned().unwrap_or_default();
    let named: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    for path in named {
        let synced = kept.get(path.file_name().unwrap());
        let there = path.metadata().unwrap().ino();
        // Only a record takes the place of another file.
        let inode = match image {
            Image::Synced => synced.copied(),
            Image::Named => Some(there),
        };
        match inode {
            Some(inode) if path.is_dir() => {
                assert_eq!(inode, there);
                leave(&path, done, image);
            }
            Some(inode) => {
                let content = done.synced.get(&inode).cloned().unwrap_or_default();
                fs::remove_file(&path).unwrap();
                fs::write(&path, content).unwrap();
            }
            None if path.is_dir() => fs::remove_dir_all(&path).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
    }
}

#[tokio::test]
async fn a_confirmed_record_outlives_a_loss_of_power_in_any_write() {
    for stop in stops().await {
        for image in [Image::Synced, Image::Named] {
            let written = play(Some(stop)).await;
            lose_power(&written, image);
            check(&written, &format!("{stop:?} {image:?}")).await;
        }
    }
}

fn lose_power(written: &Written, image: Image) {
    let root = written.dir.path();
    let slots = root.join("slots");
    let done = written.stopping.done.lock().unwrap();
    if slots.exists() {
        let inode = root.metadata().unwrap().ino();
        let kept =
            done.names.get(&inode).is_some_and(|names| names.contains_key(OsStr::new("slots")));
        if kept || matches!(image, Image::Named) {
            leave(&slots, &done, image);
        } else {
            fs::remove_dir_all(&slots).unwrap();
        }
    }
    drop(done);
    for path in state_files(root) {
        fs::write(path, "torn").unwrap();
    }
    written.machine.reboot(root);
}
