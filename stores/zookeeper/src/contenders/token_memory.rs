//! What this process knows of the record of the tokens' form. Nothing is asked here.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tenure_core::{LockName, Timestamp};

/// How long a user who may not write the record does not try to.
const NO_RIGHT: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(crate) struct TokenMemory(Mutex<Memory>);

#[derive(Debug, Default)]
struct Memory {
    /// Whether it was of another form when it was last seen.
    refused: bool,
    /// Until when this user is taken to have no right to write it.
    no_right_until: Timestamp,
    /// The locks of a diagnosis, which leaves it alone.
    trials: BTreeSet<LockName>,
}

impl TokenMemory {
    pub(crate) fn was_refused(&self) -> bool {
        self.lock().refused
    }

    pub(crate) fn set_refused(&self, refused: bool) {
        self.lock().refused = refused;
    }

    pub(crate) fn lacks_right(&self, now: Timestamp) -> bool {
        now < self.lock().no_right_until
    }

    pub(crate) fn record_no_right(&self, now: Timestamp) {
        self.lock().no_right_until = now.saturating_add(NO_RIGHT);
    }

    pub(crate) fn begin_trial(&self, name: &LockName) {
        self.lock().trials.insert(name.clone());
    }

    pub(crate) fn end_trial(&self, name: &LockName) {
        self.lock().trials.remove(name);
    }

    pub(crate) fn is_trial(&self, name: &LockName) -> bool {
        self.lock().trials.contains(name)
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
