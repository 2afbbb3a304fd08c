//! Visits to Python by threads of this module, which must end before the interpreter does.
//!
//! A thread that is inside Python, or waits to get in, when the interpreter ends is killed there, in the middle of its
//! frames. So the end of the program waits for a visit to be over, and lets no other begin.

use std::{
    sync::{
        Arc, Mutex, PoisonError, TryLockError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use pyo3::prelude::*;

/// How long the end of a program waits for a visit.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(1);

/// The visits of one process. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Visits {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Whether no other visit begins.
    ended: AtomicBool,
    /// Locked during a visit.
    visit: Mutex<()>,
}

impl Visits {
    /// Runs `visit` inside Python, unless Python is ending. An exception is shown as one that nothing can catch.
    ///
    /// Returns whether there may be another visit.
    pub(crate) fn make(&self, visit: impl FnOnce(Python<'_>) -> PyResult<()>) -> bool {
        let _visit = self.inner.visit.lock().unwrap_or_else(PoisonError::into_inner);
        if self.inner.ended.load(Ordering::SeqCst) {
            return false;
        }
        let made = Python::try_attach(|py| {
            if let Err(error) = visit(py) {
                error.write_unraisable(py, None);
            }
        });
        made.is_some()
    }

    /// Ends the visits, and waits for the one that is being made. Call it without the interpreter lock, which a visit
    /// needs.
    pub(crate) fn end(&self) {
        self.inner.ended.store(true, Ordering::SeqCst);
        let until = Instant::now() + PATIENCE;
        while let Err(TryLockError::WouldBlock) = self.inner.visit.try_lock() {
            if Instant::now() >= until {
                return;
            }
            thread::sleep(LOOK);
        }
    }
}
