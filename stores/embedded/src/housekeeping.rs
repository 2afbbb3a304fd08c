//! Removing what nobody needs any more: files of idle names, dead members, earlier boots.
//!
//! Nothing depends on it, so whatever fails is left for the next time.

use std::{fs, path::Path, sync::atomic::Ordering, time::Duration};

use tenure_core::{Fault, proto::queue::Snapshot};

use crate::{create::UNFINISHED, inner::Inner, state_file::StateFile};

/// What was used in the last minute may be used again.
const OLD: Duration = Duration::from_secs(60);
/// One of 256 shelves is tidied each time a process has created this many files.
const EVERY: u32 = 64;
/// How much is removed at once at most.
const AT_ONCE: usize = 256;

impl Inner {
    /// Tidies when the store is opened.
    pub(crate) fn tidy_at_open(&self) {
        let _ = self.members.sweep(AT_ONCE);
        self.remove_earlier_boots();
        self.tidy_shelf(self.random_shelf());
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

    fn remove_earlier_boots(&self) {
        let Ok(boots) = fs::read_dir(&self.layout.boots) else { return };
        for boot in boots.flatten().map(|entry| entry.path()) {
            let unfinished = boot.extension().is_some_and(|ending| ending == UNFINISHED);
            if boot != self.layout.boot && (!unfinished || is_old(&boot)) {
                let _ = fs::remove_dir_all(&boot);
            }
        }
    }

    fn tidy_shelf(&self, number: u8) {
        let Ok(entries) = fs::read_dir(self.layout.shelf(number)) else { return };
        let old = entries.flatten().map(|entry| entry.path()).filter(|path| is_old(path));
        for path in old.take(AT_ONCE) {
            if path.extension().is_some_and(|ending| ending == UNFINISHED) {
                let _ = fs::remove_file(&path);
            } else if let Err(fault) = self.remove_if_idle(&path) {
                tracing::debug!(path = %path.display(), %fault, "an idle file stays");
            }
        }
    }

    fn remove_if_idle(&self, path: &Path) -> Result<(), Fault> {
        let opened = StateFile::open(path.to_owned());
        let Some(file) = opened.map_err(|why| crate::error::io("open", path, why))? else {
            return Ok(());
        };
        let Some(section) = file.enter()? else { return Ok(()) };
        let Some(loaded) = section.read(&self.ground())? else { return Ok(()) };
        let alive = |client| self.members.alive(client);
        let at = self.moment(&alive)?;
        if loaded.state.inspect(&at) == Snapshot::default() {
            section.remove(&self.ground(), &loaded)?;
        }
        Ok(())
    }
}

/// Whether a file was not touched for a while.
pub(crate) fn is_old(path: &Path) -> bool {
    let touched = fs::symlink_metadata(path).and_then(|found| found.modified());
    touched.is_ok_and(|at| at.elapsed().is_ok_and(|age| age >= OLD))
}
