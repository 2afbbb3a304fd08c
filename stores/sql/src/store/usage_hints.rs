//! How names are used, as far as this process has seen lately: where to begin.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::atomic::{AtomicU8, Ordering},
};

use tenure_core::LockName;

/// Names share these, and whoever is guessed wrongly costs a statement, no more.
const SLOTS: usize = 1024;

/// What is most likely true of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Usage {
    /// One holder at a time, and nobody waits.
    Alone = 0,
    /// Others wait for it.
    Contended = 1,
    /// Several hold it together.
    Shared = 2,
}

/// A guess for each name.
#[derive(Debug)]
pub(crate) struct UsageHints([AtomicU8; SLOTS]);

impl Default for UsageHints {
    fn default() -> Self {
        Self([const { AtomicU8::new(Usage::Alone as u8) }; SLOTS])
    }
}

impl UsageHints {
    fn slot(&self, name: &LockName) -> Option<&AtomicU8> {
        let mut hasher = DefaultHasher::new();
        name.as_str().hash(&mut hasher);
        let number = usize::try_from(hasher.finish() % SLOTS as u64).ok()?;
        self.0.get(number)
    }

    pub(crate) fn of(&self, name: &LockName) -> Usage {
        match self.slot(name).map(|slot| slot.load(Ordering::Relaxed)) {
            Some(1) => Usage::Contended,
            Some(2) => Usage::Shared,
            _ => Usage::Alone,
        }
    }

    pub(crate) fn set(&self, name: &LockName, now: Usage) {
        if let Some(slot) = self.slot(name)
            && slot.load(Ordering::Relaxed) != now as u8
        {
            slot.store(now as u8, Ordering::Relaxed);
        }
    }

    /// The same of a name that one holder has alone.
    pub(crate) fn set_contended(&self, name: &LockName, is_contended: bool) {
        self.set(name, if is_contended { Usage::Contended } else { Usage::Alone });
    }
}
