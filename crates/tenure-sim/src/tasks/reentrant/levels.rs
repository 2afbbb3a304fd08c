//! A reentrant hold with all of its guards.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use tenure_core::{Timestamp, Token, kinds::ReentrantGuard};

use crate::check::GuardStatus;

/// All guards of one hold, whichever task of the scope has them.
#[derive(Debug)]
pub(super) struct ReentrantGuards {
    pub(super) token: Token,
    /// What the checker calls it.
    pub(super) hold: OnceLock<usize>,
    guards: Mutex<Vec<ReentrantGuard>>,
    /// Whether the checker was told that it is lost.
    pub(super) told_lost: OnceLock<()>,
}

impl ReentrantGuards {
    pub(super) fn new(guard: ReentrantGuard) -> Self {
        Self {
            token: guard.token(),
            hold: OnceLock::new(),
            guards: Mutex::new(vec![guard]),
            told_lost: OnceLock::new(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<ReentrantGuard>> {
        self.guards.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn depth(&self) -> usize {
        self.lock().len()
    }

    /// Whether all levels say the same of their hold.
    pub(super) fn agree(&self) -> bool {
        let guards = self.lock();
        let held = guards.iter().filter(|guard| guard.check() == Ok(self.token)).count();
        held == 0 || held == guards.len()
    }

    pub(super) fn hold(&self) -> usize {
        self.hold.get().copied().unwrap_or(usize::MAX)
    }
}

impl GuardStatus for ReentrantGuards {
    fn is_held(&self) -> bool {
        self.lock().iter().any(|guard| guard.check().is_ok())
    }

    fn deadline(&self) -> Option<Timestamp> {
        self.lock().iter().map(|guard| guard.deadline()).min()
    }
}
