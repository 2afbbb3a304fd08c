//! Which names others wait for, as far as this process has seen lately: where to begin.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::atomic::{AtomicBool, Ordering},
};

use tenure_core::LockName;

/// Names share these, and whoever is taken for contended wrongly costs a statement, no more.
const SLOTS: usize = 1024;

/// A guess for each name.
#[derive(Debug)]
pub(crate) struct Contended([AtomicBool; SLOTS]);

impl Default for Contended {
    fn default() -> Self {
        Self([const { AtomicBool::new(false) }; SLOTS])
    }
}

impl Contended {
    fn slot(&self, name: &LockName) -> Option<&AtomicBool> {
        let mut hasher = DefaultHasher::new();
        name.as_str().hash(&mut hasher);
        let number = usize::try_from(hasher.finish() % SLOTS as u64).ok()?;
        self.0.get(number)
    }

    pub(crate) fn is(&self, name: &LockName) -> bool {
        self.slot(name).is_some_and(|slot| slot.load(Ordering::Relaxed))
    }

    pub(crate) fn set(&self, name: &LockName, is_contended: bool) {
        if let Some(slot) = self.slot(name)
            && slot.load(Ordering::Relaxed) != is_contended
        {
            slot.store(is_contended, Ordering::Relaxed);
        }
    }
}
