//! When a store removes what nobody needs any more: in proportion to what it creates.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// One of 256 shelves is tidied each time a process has created this many files,
pub(crate) const EVERY: u32 = 64;
/// or so large a part of what the last shelf kept: a look at each file there is spread over them.
const PART: usize = 8;
/// How many threads of a process tidy at the same time at most.
const TIDIERS: u32 = 4;

/// When a store tidies.
#[derive(Debug)]
pub(crate) struct SweepSchedule {
    /// Counts the state files that were created since it last began to.
    created: AtomicU32,
    /// How many it takes.
    due: AtomicU32,
    /// Counts the shelves.
    turns: AtomicU8,
    tidiers: AtomicU32,
}

impl Default for SweepSchedule {
    fn default() -> Self {
        Self {
            created: AtomicU32::new(0),
            due: AtomicU32::new(EVERY),
            turns: AtomicU8::new(0),
            tidiers: AtomicU32::new(0),
        }
    }
}

impl SweepSchedule {
    /// Counts a file that was created.
    pub(crate) fn record_created(&self) {
        self.created.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether it is time to tidy, and no other threads see to that. Then the caller does, and says when it
    /// [ends](Self::end_sweep).
    pub(crate) fn try_begin(&self) -> bool {
        let due = self.files_per_shelf();
        if self.created.load(Ordering::Relaxed) < due {
            return false;
        }
        let began = self.tidiers.fetch_add(1, Ordering::Relaxed) < TIDIERS
            && self.created.swap(0, Ordering::Relaxed) >= due;
        if !began {
            self.end_sweep();
        }
        began
    }

    pub(crate) fn end_sweep(&self) {
        self.tidiers.fetch_sub(1, Ordering::Relaxed);
    }

    /// How many files take one to the next shelf.
    pub(crate) fn files_per_shelf(&self) -> u32 {
        self.due.load(Ordering::Relaxed)
    }

    /// Which shelf is next: one after the other.
    pub(crate) fn next_shelf(&self) -> u8 {
        self.turns.fetch_add(1, Ordering::Relaxed)
    }

    /// So many files stay on the shelf that was tidied last.
    pub(crate) fn record_kept(&self, files: usize) {
        let due = u32::try_from(files / PART).unwrap_or(u32::MAX);
        self.due.store(due.max(EVERY), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_threads_tidy_at_a_time() {
        let tidying = SweepSchedule::default();
        let begins = || {
            (0..EVERY).for_each(|_| tidying.record_created());
            tidying.try_begin()
        };
        assert!((0..TIDIERS).all(|_| begins()));
        assert!(!begins());
        tidying.end_sweep();
        assert!(begins() && !begins());
    }
}
