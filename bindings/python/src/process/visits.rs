//! Visits to Python by one thread of this module, which must end before the interpreter does, and before a fork.
//!
//! A thread that is inside Python, or waits to get in, when the interpreter ends is killed there, in the middle of its
//! frames. So the end of the program waits for a visit to be over, and lets no other begin. A fork in the middle of a
//! visit leaves what the visit has locked, such as a file's buffer, locked in the child for good.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use pyo3::prelude::*;

/// How long the end of a program waits for a visit.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a fork waits for one.
const FORK_PATIENCE: Duration = Duration::from_secs(1);

/// The visits of one thread. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Visits {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Never locked while Python runs.
    state: Mutex<State>,
    changes: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_inside: bool,
    /// Whether no other visit begins.
    has_ended: bool,
    /// How many forks are being made, during which none begins.
    forks: usize,
}

impl Visits {
    /// Runs `visit` inside Python, unless Python is ending. An exception is shown as one that nothing can catch.
    ///
    /// Returns whether there may be another visit.
    pub(crate) fn make(&self, visit: impl FnOnce(Python<'_>) -> PyResult<()>) -> bool {
        if !self.begin() {
            return false;
        }
        let made = Python::try_attach(|py| {
            if let Err(error) = visit(py) {
                error.write_unraisable(py, None);
            }
        });
        self.change(|state| state.is_inside = false);
        made.is_some()
    }

    fn begin(&self) -> bool {
        let waits = |state: &mut State| state.forks > 0 && !state.has_ended;
        let state = self.inner.changes.wait_while(self.state(), waits);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.is_inside = !state.has_ended;
        state.is_inside
    }

    /// Ends the visits, and waits for the one that is being made. Call it without the interpreter lock, which a visit
    /// needs.
    pub(crate) fn end(&self) {
        self.change(|state| state.has_ended = true);
        self.wait_outside(PATIENCE);
    }

    pub(crate) fn have_ended(&self) -> bool {
        self.state().has_ended
    }

    /// Lets no visit begin until `resume`, and waits a while for the one that is being made: a visit that waits for
    /// what the fork's caller has locked does not end. Call it without the interpreter lock.
    pub(crate) fn pause(&self) {
        self.change(|state| state.forks += 1);
        self.wait_outside(FORK_PATIENCE);
    }

    /// Ends a `pause`.
    pub(crate) fn resume(&self) {
        self.change(|state| state.forks = state.forks.saturating_sub(1));
    }

    fn wait_outside(&self, patience: Duration) {
        let waits = |state: &mut State| state.is_inside;
        drop(self.inner.changes.wait_timeout_while(self.state(), patience, waits));
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.inner.changes.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
