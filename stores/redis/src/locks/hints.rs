//! A small set that is most often empty, and never asked under a lock then.

use std::{
    collections::HashSet,
    hash::Hash,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Hints about what was seen last: one that is missing, or wrong, costs another command.
pub(crate) struct BoundedHintSet<T> {
    all: Mutex<HashSet<T>>,
    /// How many there are, as far as anybody knows: most often there are none.
    count: AtomicUsize,
}

impl<T: Eq + Hash> BoundedHintSet<T> {
    /// More are not worth their memory.
    const MOST: usize = 4_096;

    pub(crate) fn new() -> Self {
        Self { all: Mutex::new(HashSet::new()), count: AtomicUsize::new(0) }
    }

    pub(crate) fn insert(&self, one: T) {
        let mut all = self.lock();
        // Those that nobody asked about again stay behind.
        if all.len() >= Self::MOST {
            all.clear();
        }
        all.insert(one);
        self.count.store(all.len(), Ordering::Relaxed);
    }

    pub(crate) fn contains(&self, one: &T) -> bool {
        self.count.load(Ordering::Relaxed) > 0 && self.lock().contains(one)
    }

    pub(crate) fn remove(&self, one: &T) -> bool {
        if self.count.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let mut all = self.lock();
        let there = all.remove(one);
        self.count.store(all.len(), Ordering::Relaxed);
        there
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<T>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
