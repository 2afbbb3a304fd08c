//! The handles of detached holds.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, atomic::AtomicU64};

use tenure_core::{Clock, Handle, Timestamp, Token};

use super::Terms;
use crate::{check::GuardStatus, clock::SimClock};
use tenure_testkit::Random;

/// How many handles lie about at a time.
const MOST: usize = 8;

/// The handles that lie about, for whoever comes by.
#[derive(Debug, Default)]
pub(super) struct DetachedHolds(Mutex<Vec<Arc<DetachedHold>>>);

/// A detached hold, of which nobody hears anything.
#[derive(Debug)]
pub(super) struct DetachedHold {
    pub(super) handle: Handle,
    pub(super) terms: Terms,
    pub(super) token: Token,
    pub(super) deadline: Timestamp,
    pub(super) clock: SimClock,
    /// What the checker calls it.
    pub(super) hold: OnceLock<usize>,
    /// How many have tried to take it up.
    pub(super) touches: AtomicU64,
}

impl GuardStatus for DetachedHold {
    fn is_held(&self) -> bool {
        self.clock.now() < self.deadline
    }

    fn deadline(&self) -> Option<Timestamp> {
        Some(self.deadline)
    }
}

impl DetachedHolds {
    pub(super) fn leave(&self, detached: Arc<DetachedHold>) {
        let mut handles = self.lock();
        if handles.len() == MOST {
            handles.remove(0);
        }
        handles.push(detached);
    }

    /// One of them. It may stay for others to find.
    pub(super) fn find(&self, random: &mut Random) -> Option<Arc<DetachedHold>> {
        let mut handles = self.lock();
        let index = usize::try_from(random.below(handles.len().max(1) as u64)).unwrap_or(0);
        let found = handles.get(index)?.clone();
        if random.happens(500) {
            handles.remove(index);
        }
        Some(found)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<DetachedHold>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
