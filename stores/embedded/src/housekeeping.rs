//! Removing what nobody needs any more: files of idle names, and what was never completed.
//!
//! Nothing depends on it, so whatever fails is left for the next time.

use std::sync::atomic::Ordering;

use tenure_core::{Fault, proto::queue::Snapshot};

use crate::{
    age::is_old,
    dir::{Dir, Entry, is_hex, stem_of_unfinished},
    error,
    inner::Inner,
    layout::{BOOTS, CLOCK, StatePlace, is_hash, is_of_a_boot, is_state, shelf},
    looks::Looks,
    removal,
    slots::Room,
    state_file::StateFile,
};

/// One of 256 shelves is tidied each time a process has created this many files.
const EVERY: u32 = 64;
/// How much is removed at once at most.
const AT_ONCE: usize = 256;
/// At how much of other members an opening looks: more than one leaves, so that nothing piles up, and so
/// little that thousands who were killed slow down nobody.
const LOOKS: usize = 16;

impl Inner {
    /// Tidies when the store is opened.
    pub(crate) fn tidy_at_open(&self) {
        let _ = self.members.sweep(LOOKS, self.machine.clock().now());
        self.tidy_shelf(self.random_shelf());
    }

    /// Removes what was never completed of the directories that all names share.
    pub(crate) fn remove_unfinished(&self, boots: &Dir) {
        removal::old_unfinished(&self.layout.root.dir, |stem| stem == CLOCK || stem == BOOTS);
        removal::old_unfinished(boots, is_hash);
        removal::old_unfinished(&self.layout.boot, is_of_a_boot);
        removal::old_unfinished(&self.layout.locks, |stem| is_hex(stem, 2));
    }

    /// Whether this process has created so many files that it should tidy a little.
    pub(crate) fn is_tidying_due(&self) -> bool {
        self.created.load(Ordering::Relaxed) >= EVERY
    }

    /// Tidies one shelf. May take as long as a disk does.
    pub(crate) fn tidy(&self) {
        if self.created.swap(0, Ordering::Relaxed) >= EVERY {
            // One shelf after the other, from one that differs from process to process.
            let turn = self.tidied.fetch_add(1, Ordering::Relaxed);
            self.tidy_shelf(self.random_shelf().wrapping_add(turn));
        }
    }

    fn random_shelf(&self) -> u8 {
        self.members.own().0[0]
    }

    fn tidy_shelf(&self, number: u8) {
        let shelf = shelf(number);
        let Ok(Some(dir)) = self.layout.locks.sub(&shelf) else { return };
        let mut names = dir.names().unwrap_or_default();
        names.retain(|name| is_old(&dir, name));
        for file in names.into_iter().take(AT_ONCE) {
            if stem_of_unfinished(&file).is_some_and(is_hash) {
                if dir.entry(&file).is_ok_and(|found| found == Some(Entry::File)) {
                    let _ = dir.remove(&file);
                }
            } else if is_state(&file)
                && let Err(fault) = self.remove_if_idle(&StatePlace { shelf: shelf.clone(), file })
            {
                tracing::debug!(%fault, "an idle file stays");
            }
        }
    }

    fn remove_if_idle(&self, place: &StatePlace) -> Result<(), Fault> {
        let opened = StateFile::open(&self.layout, place);
        let opened = opened.map_err(|why| error::io("open", &self.layout.path_of(place), why))?;
        let Some(file) = opened else { return Ok(()) };
        let Some(section) = file.enter()? else { return Ok(()) };
        let mut room = Room::new();
        let Some(loaded) = section.read(&self.ground(), &mut room)? else { return Ok(()) };
        let looks = Looks::new(|client| self.members.alive(client));
        let alive = |client| looks.alive(client);
        let at = self.moment(&alive)?;
        if loaded.is_of_a_lock() && loaded.state.inspect(&at) == Snapshot::default() {
            section.remove(&self.ground(), &loaded)?;
        }
        Ok(())
    }
}
