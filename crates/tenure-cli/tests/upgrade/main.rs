//! The command of earlier commits beside this one, on each store, forth and back: what each says of what the other left,
//! that the steps of docs/upgrading.md lead from one to the other, and that no two ever hold one lock.
//!
//! `scripts/upgrade` builds the earlier commands and runs this.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail, and says what it saw"
)]

mod commands;
mod places;

use std::{fs, io::Write};

use commands::{Version, earlier, mix, present};
use places::Place;

/// A lock that stays taken, one that was let go, and one with a history.
const TAKEN: &str = "taken";
const FREE: &str = "free";
const TOLD: &str = "told";
const PAGE: &str = "docs/upgrading.md";

/// What one version said of what another left.
struct Said {
    /// Both keep the locks of each other.
    shares: bool,
    words: String,
}

/// Leaves a lock that is taken and one that was used.
fn leave(version: &Version, place: &Place) -> Option<commands::Holder> {
    let free = version.run(place, &["run", FREE, "--", "true"]);
    assert!(free.is_done(), "{} on a fresh {}: {}", version.commit, place.store, free.words);
    if !place.keeps {
        return Some(version.hold(place, TAKEN));
    }
    let taken = version.run(place, &["run", "--hold-at-least", "45s", TAKEN, "--", "true"]);
    assert!(taken.is_done(), "{} on a fresh {}: {}", version.commit, place.store, taken.words);
    None
}

/// What a version says of what is there: it never gets the lock that is taken.
fn look(version: &Version, place: &Place) -> Said {
    let taken = version.run(place, &["run", "--no-wait", TAKEN, "--", "touch", "got"]);
    assert!(
        !version.folder.path().join("got").exists(),
        "{} got a lock that is taken",
        version.commit
    );
    let free = version.run(place, &["run", "--no-wait", FREE, "--", "true"]);
    if taken.is_busy() && free.is_done() {
        return Said { shares: true, words: "shares its locks".to_owned() };
    }
    let words = if free.is_done() {
        format!("of the taken lock: {}; gets one that is free", taken.words)
    } else {
        free.words
    };
    Said { shares: false, words }
}

/// From one version to another: what it says, and that it works after the steps of the page.
fn change(from: &Version, to: &Version, place: &Place) -> String {
    place.empty();
    let holder = leave(from, place);
    let said = look(to, place);
    drop(holder);
    if said.shares {
        return said.words;
    }
    if to.commit == commands::PRESENT {
        assert!(said.words.contains(PAGE), "{}", said.words);
        let doctor = to.run(place, &["doctor"]);
        assert!(doctor.words.contains(PAGE), "{}", doctor.words);
    }
    if place.breaks {
        // Who made it takes away what is taken.
        let broken = from.run(place, &["break", "--yes", TAKEN]);
        assert!(broken.is_done(), "{}: {}", from.commit, broken.words);
    }
    place.steps();
    for name in [FREE, TAKEN] {
        let done = to.run(place, &["run", "--no-wait", name, "--", "true"]);
        assert!(done.is_done(), "{name} in {} after the steps: {}", place.store, done.words);
    }
    said.words
}

/// What is left of the history that this version keeps of a lock, after an earlier one used that lock and broke it.
fn histories(old: &Version, new: &Version, place: &Place) -> String {
    place.empty();
    if !place.keeps_history {
        return "keeps none".to_owned();
    }
    let [keeps, stays] = [&["run", TOLD, "--history"][..], &["--hold-at-least", "45s"]];
    let kept = new.run(place, &[keeps, &["--", "true"]].concat());
    assert!(kept.is_done(), "{}: {}", place.store, kept.words);
    let used = old.run(place, &["run", "--no-wait", TOLD, "--", "true"]);
    if !used.is_done() {
        return "shares no locks".to_owned();
    }
    let kept = new.run(place, &[keeps, stays, &["--", "true"]].concat());
    assert!(kept.is_done(), "{}: {}", place.store, kept.words);
    let broken = old.run(place, &["break", "--yes", TOLD]);
    assert!(broken.is_done(), "{} in {}: {}", old.commit, place.store, broken.words);
    let used = old.run(place, &["run", "--no-wait", TOLD, "--", "true"]);
    assert!(used.is_done(), "{} in {}: {}", old.commit, place.store, used.words);
    let told = new.run(place, &["history", TOLD, "--json"]);
    assert!(told.is_done(), "{}: {}", place.store, told.words);
    let holds = told.words.matches("\"token\"").count();
    assert_eq!(holds, 2, "{} in {} left of both: {}", old.commit, place.store, told.words);
    "leaves it".to_owned()
}

fn compare(place: &Place) {
    let new = present();
    for old in earlier() {
        place.empty();
        let first = old.run(place, &["run", FREE, "--", "true"]);
        if !first.is_done() {
            assert!(
                first.knows_no_store(),
                "{} on a fresh {}: {}",
                old.commit,
                place.store,
                first.words
            );
            row(&[&place.store, &old.commit, "knows no such store", "", "", "", ""]);
            continue;
        }
        let forth = change(&old, &new, place);
        let back = change(&new, &old, place);
        let mixed = [&old, &new].map(|first| {
            place.empty();
            // Where one founds something, or writes a number, it is this one.
            first.run(place, &["run", FREE, "--", "true"]);
            mix(&old, &new, place)
        });
        let told = histories(&old, &new, place);
        row(&[&place.store, &old.commit, &forth, &back, &mixed[0], &mixed[1], &told]);
    }
}

fn row(cells: &[&str]) {
    let row = format!("| {} |", cells.join(" | "));
    println!("{row}");
    if let Some(table) = std::env::var_os("TENURE_UPGRADE_TABLE") {
        let mut table = fs::OpenOptions::new().append(true).create(true).open(table).unwrap();
        writeln!(table, "{row}").unwrap();
    }
}

macro_rules! stores {
    ($($name:ident)+) => {$(
        #[test]
        #[ignore = "needs the commands of earlier commits: scripts/upgrade"]
        fn $name() {
            compare(&places::$name());
        }
    )+};
}

stores! { embedded redis cluster quorum postgres mariadb zookeeper }
