//! Open state files, kept for the next use: at most a few hundred.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tenure_core::LockName;

use crate::files::state_file::StateFile;

/// How many files one store keeps open.
const MOST: usize = 256;

/// The cache of one store.
#[derive(Debug, Default)]
pub(crate) struct OpenFileCache {
    open: Mutex<HashMap<LockName, Arc<StateFile>>>,
    uses: AtomicU64,
}

impl OpenFileCache {
    pub(crate) fn get(&self, name: &LockName) -> Option<Arc<StateFile>> {
        let file = self.lock().get(name).cloned()?;
        self.touch(&file);
        Some(file)
    }

    /// Keeps `file`, instead of the one that was not used for longest if there are too many.
    pub(crate) fn cache_file(&self, name: &LockName, file: StateFile) -> Arc<StateFile> {
        let file = Arc::new(file);
        self.touch(&file);
        let mut open = self.lock();
        if open.len() >= MOST
            && let Some(idlest) = open
                .iter()
                .min_by_key(|(_, file)| file.used.load(Ordering::Relaxed))
                .map(|(name, _)| name.clone())
        {
            open.remove(&idlest);
        }
        open.insert(name.clone(), file.clone());
        file
    }

    /// Forgets a file that was removed.
    pub(crate) fn forget(&self, name: &LockName, file: &Arc<StateFile>) {
        let mut open = self.lock();
        if open.get(name).is_some_and(|kept| Arc::ptr_eq(kept, file)) {
            open.remove(name);
        }
    }

    fn touch(&self, file: &StateFile) {
        file.used.store(self.uses.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<LockName, Arc<StateFile>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
