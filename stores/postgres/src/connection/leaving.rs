//! Sessions of a pooler over which an answer is on its way that nobody waits for any more.
//!
//! A pooler does not tell the server that a client has left, which goes on with what was asked. So such a session is kept
//! until the answer is over, and whoever takes back what was asked knows that it is under way still.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// How many are kept at most. One more is ended at once.
const MOST: usize = 32;

#[derive(Clone, Debug, Default)]
pub(crate) struct AbandonedSessions(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    next: u64,
    all: BTreeSet<u64>,
}

impl AbandonedSessions {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more, unless there are too many.
    pub(crate) fn begin(&self) -> Option<AbandonedSession> {
        let mut state = self.state();
        if state.all.len() >= MOST {
            return None;
        }
        let number = state.next;
        state.next += 1;
        state.all.insert(number);
        drop(state);
        Some(AbandonedSession { all: self.clone(), number })
    }

    /// The last of them.
    pub(crate) fn last(&self) -> Option<u64> {
        self.state().all.last().copied()
    }

    /// Whether this one and all before it are over.
    pub(crate) fn is_over(&self, number: u64) -> bool {
        self.state().all.first().is_none_or(|first| *first > number)
    }
}

/// One of them. Dropped when its answer is over.
#[derive(Debug)]
pub(crate) struct AbandonedSession {
    all: AbandonedSessions,
    number: u64,
}

impl Drop for AbandonedSession {
    fn drop(&mut self) {
        self.all.state().all.remove(&self.number);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use super::*;

    #[test]
    fn so_many_are_kept_and_each_counts_until_it_is_over() {
        let leaving = AbandonedSessions::default();
        assert!(leaving.last().is_none() && leaving.is_over(0));
        let mut all: Vec<_> = (0..MOST).map(|_| leaving.begin().unwrap()).collect();
        assert!(leaving.begin().is_none());
        let last = leaving.last().unwrap();
        let first = all.remove(0);
        all.clear();
        assert!(!leaving.is_over(last) && !leaving.is_over(first.number));
        drop(first);
        assert!(leaving.is_over(last) && leaving.last().is_none());
        assert!(leaving.begin().is_some());
    }
}
