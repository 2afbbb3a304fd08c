//! Removing what nobody needs any more: files of idle names, records whose time is over, and what was never completed.
//!
//! Nothing depends on it, so whatever fails is left for the next time.

use std::hash::{BuildHasher, RandomState};

use tenure_core::{Fault, proto::queue::Snapshot};

use crate::{
    decisions::looks::LivenessChecks,
    disk::{
        age::is_old,
        dir::{Dir, EntryKind, stem_of_unfinished},
        slots::ReadBuffer,
    },
    error,
    files::{
        history_file,
        layout::{
            BOOTS, CLOCK, HISTORY, SLOTS, StatePath, is_hash, is_history, is_of_a_boot, is_record,
            is_shelf, is_state, shelf,
        },
        removal, slot_records,
        state_file::StateFile,
    },
    inner::Inner,
};

/// How much is removed at once, or twice what was created since.
const AT_ONCE: usize = 256;
/// At how many other members, and at how many records and histories, an opening looks: more than one leaves, so that
/// nothing piles up, and so little that thousands who were killed slow down nobody.
const LOOKS: usize = 16;

impl Inner {
    /// Tidies when the store is opened.
    pub(crate) fn tidy_at_open(&self) {
        let _ = self.members.sweep(LOOKS, self.machine.clock().now());
        self.tidy_shelf(self.random_shelf(), AT_ONCE);
        self.tidy_some(SLOTS, |shelf, most| self.tidy_records(shelf, most));
        self.tidy_some(HISTORY, |shelf, most| self.tidy_histories(shelf, most));
    }

    /// Removes what was never completed of the directories that all names share.
    pub(crate) fn remove_unfinished(&self, boots: &Dir) {
        removal::remove_old_unfinished(&self.layout.root.dir, |stem| {
            [CLOCK, BOOTS, SLOTS, HISTORY].contains(&stem)
        });
        for kind in [SLOTS, HISTORY] {
            if let Ok(Some(kept)) = self.layout.root.dir.sub(kind) {
                removal::remove_old_unfinished(&kept, is_shelf);
            }
        }
        removal::remove_old_unfinished(boots, is_hash);
        removal::remove_old_unfinished(&self.layout.boot, is_of_a_boot);
        removal::remove_old_unfinished(&self.layout.locks, is_shelf);
    }

    /// Tidies one shelf if it is time for that. May take as long as a disk does.
    pub(crate) fn tidy_when_due(&self) {
        if self.tidying.try_begin() {
            self.tidy();
        }
    }

    /// Tidies the next shelf. Whoever calls it has begun to: [`try_begin`](crate::files::tidying::SweepSchedule::try_begin).
    pub(crate) fn tidy(&self) {
        // One shelf after the other, from one that differs from process to process.
        let most = AT_ONCE.max(2 * self.tidying.files_per_shelf() as usize);
        let number = self.random_shelf().wrapping_add(self.tidying.next_shelf());
        let stay = self.tidy_shelf(number, most);
        self.tidy_records(&shelf(number), most);
        self.tidy_histories(&shelf(number), most);
        self.tidying.record_kept(stay);
        self.tidying.end_sweep();
    }

    fn random_shelf(&self) -> u8 {
        self.members.own().0[0]
    }

    /// Removes what is old there, `most` at once. Says how much stays.
    fn tidy_shelf(&self, number: u8, most: usize) -> usize {
        let shelf = shelf(number);
        let Ok(Some(dir)) = self.layout.locks.sub(&shelf) else { return 0 };
        let names = dir.names().unwrap_or_default();
        let all = names.len();
        let mut went = 0;
        for file in names.into_iter().filter(|name| is_old(&dir, name)).take(most) {
            went += 1;
            if stem_of_unfinished(&file).is_some_and(is_hash) {
                if dir.entry(&file).is_ok_and(|found| found == Some(EntryKind::File)) {
                    let _ = dir.remove(&file);
                }
            } else if is_state(&file)
                && let Err(fault) =
                    self.remove_if_idle(&dir, &StatePath { shelf: shelf.clone(), file })
            {
                tracing::debug!(fault = %format_args!("{fault:#}"), "an idle file stays");
            }
        }
        all - went
    }

    fn remove_if_idle(&self, shelf: &Dir, place: &StatePath) -> Result<(), Fault> {
        let opened = StateFile::open_in(shelf, &self.layout, place);
        let opened = opened.map_err(|why| error::io("open", &self.layout.path_of(place), why))?;
        let Some(file) = opened else { return Ok(()) };
        let Some(section) = file.try_lock_state()? else { return Ok(()) };
        let mut room = ReadBuffer::new();
        let Some(loaded) = section.read(&self.store_context(), &mut room)? else { return Ok(()) };
        let looks = LivenessChecks::new(|client| self.members.alive(client));
        let alive = |client| looks.alive(client);
        let at = self.decision_context(&alive)?;
        if loaded.has_valid_name() && loaded.state.inspect(&at) == Snapshot::default() {
            section.remove(&self.store_context(), shelf, &loaded)?;
        }
        Ok(())
    }
}

impl Inner {
    /// Tidies shelves of one kind that exist: those who only ever open a store may have few names, on any shelves.
    fn tidy_some(&self, kind: &str, tidy: impl Fn(&str, usize) -> usize) {
        let Ok(Some(kept)) = self.layout.root.dir.sub(kind) else { return };
        let mut shelves = kept.names().unwrap_or_default();
        shelves.retain(|name| is_shelf(name));
        // At random, so that all have their turn, however many files the others have.
        let order = RandomState::new();
        shelves.sort_by_cached_key(|name| order.hash_one(name));
        let mut left = LOOKS;
        // Shelves stay when they are empty, so not only files count.
        for shelf in shelves.iter().take(LOOKS) {
            left = left.saturating_sub(tidy(shelf, left));
            if left == 0 {
                break;
            }
        }
    }

    /// Looks at `most` records there, and removes those whose time is over. Says at how many it looked.
    fn tidy_records(&self, shelf: &str, most: usize) -> usize {
        self.tidy_kept((SLOTS, is_record), shelf, most, |dir, name, now| {
            slot_records::remove_if_over(&*self.machine, dir, name, now)
        })
    }

    /// The same for histories.
    fn tidy_histories(&self, shelf: &str, most: usize) -> usize {
        self.tidy_kept((HISTORY, is_history), shelf, most, |dir, name, now| {
            history_file::remove_if_over(&*self.machine, &self.layout.root, (dir, name), now)
        })
    }

    fn tidy_kept(
        &self,
        (kind, is_one): (&str, fn(&str) -> bool),
        shelf: &str,
        most: usize,
        remove_if_over: impl Fn(&Dir, &str, u64) -> Result<(), Fault>,
    ) -> usize {
        let Ok(Some(dir)) = self.layout.root.shelf(kind, shelf) else { return 0 };
        removal::remove_old_unfinished(&dir, is_hash);
        let mut names = dir.names().unwrap_or_default();
        names.retain(|name| is_one(name));
        if names.len() > most {
            // Only its content tells how long one is kept, so each look begins elsewhere and all have their turn.
            let mut random = [0; 8];
            let _ = getrandom::fill(&mut random);
            let start = usize::from_le_bytes(random) % names.len();
            names.rotate_left(start);
        }
        let now = self.machine.clock().wall();
        for name in names.iter().take(most) {
            if let Err(fault) = remove_if_over(&dir, name, now) {
                tracing::debug!(kind, fault = %format_args!("{fault:#}"), "a record or a history stays");
            }
        }
        names.len().min(most)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use std::{
        fs,
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
        time::Duration,
    };

    use tenure_core::{
        LockName,
        proto::{
            Owner,
            queue::{Answer, Ask, Intent, Kind, Mode, Order},
        },
        store::{SlotsWrite, SlotsWritten},
    };

    use super::*;
    use crate::{
        decisions::{acquire, decide::CancelFlag},
        files::{layout::Layout, tidying::EVERY},
        machine::{ThisMachine, lock_directory::LockDirectory},
    };

    #[test]
    fn a_record_that_takes_the_place_of_one_that_is_removed_stays() {
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let inner = Inner::open(LockDirectory::named(dir.path()), Arc::new(ThisMachine)).unwrap();
        let (name, owner) = (LockName::new("a").unwrap(), Owner::from_bytes([7; 16]));
        let ask = Ask {
            owner,
            kind: Kind::Mutex,
            mode: Mode::Exclusive,
            order: Order::Barging,
            intent: Intent::Try,
            ttl: Duration::from_secs(600),
            label: "test".into(),
        };
        let flag = CancelFlag::default();
        let granted = inner.decide_blocking(&name, &acquire(&inner, &ask), &flag).unwrap();
        assert!(matches!(granted, Answer::Granted { .. }), "{granted:?}");
        let shelf = Layout::record(&name).shelf;
        let ends = AtomicBool::new(false);
        let lost = std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !ends.load(Ordering::Relaxed) {
                        inner.tidy_records(&shelf, AT_ONCE);
                    }
                });
            }
            let lost = (0..1_000).filter(|round| {
                let write = |text: &str, keep| {
                    let before = inner.read_slots(&name, &flag).unwrap().text;
                    let write = SlotsWrite { before, text: text.to_owned(), keep };
                    let written = inner.write_slots(&name, &owner, &write, &flag).unwrap();
                    assert_eq!(written, SlotsWritten::Written);
                };
                write("over", Duration::ZERO);
                let text = round.to_string();
                write(&text, Duration::from_secs(600));
                std::thread::yield_now();
                inner.read_slots(&name, &flag).unwrap().text != Some(text)
            });
            let lost = lost.count();
            ends.store(true, Ordering::Relaxed);
            lost
        });
        assert_eq!(lost, 0);
    }

    #[test]
    fn a_shelf_of_many_files_is_looked_through_once_in_as_many_more_of_new_ones() {
        let dir = tempfile::tempdir().unwrap();
        let inner = Inner::open(LockDirectory::named(dir.path()), Arc::new(ThisMachine)).unwrap();
        let create = |count: u32| (0..count).for_each(|_| inner.tidying.record_created());
        let (first, access) = (shelf(inner.random_shelf()), inner.layout.access());
        let place = inner.layout.locks.open_or_create(&first, access).unwrap().path().to_owned();
        for number in 0..1600 {
            fs::write(place.join(format!("{number:032x}.lk")), "").unwrap();
        }
        create(EVERY - 1);
        assert!(!inner.tidying.try_begin());
        create(1);
        assert!(inner.tidying.try_begin());
        assert!(!inner.tidying.try_begin(), "whoever decides next does not begin, too");
        inner.tidy();
        create(199);
        assert!(!inner.tidying.try_begin());
        create(1);
        // The next shelf is empty.
        inner.tidy_when_due();
        create(EVERY);
        assert!(inner.tidying.try_begin());
    }
}
