//! Work without the interpreter lock, and the way back.
//!
//! A thread that comes back when the interpreter ends is killed there, in the middle of its frames. So it stays outside
//! for ever then, as Python itself does with such threads since 3.14.

use std::{
    cell::Cell,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use pyo3::prelude::*;

/// How long the end of a program waits for those that come back.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(1);

static ENDS: AtomicBool = AtomicBool::new(false);
/// How many threads are on their way back.
static COME_BACK: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether this thread ends the interpreter.
    static ENDS_IT: Cell<bool> = const { Cell::new(false) };
}

/// Does `work` without the interpreter lock.
pub(crate) fn outside<T: Send>(py: Python<'_>, work: impl Send + FnOnce() -> T) -> T {
    let done = py.detach(|| {
        let done = work();
        COME_BACK.fetch_add(1, Ordering::SeqCst);
        if ENDS.load(Ordering::SeqCst) && !ENDS_IT.get() {
            COME_BACK.fetch_sub(1, Ordering::SeqCst);
            loop {
                thread::park();
            }
        }
        done
    });
    COME_BACK.fetch_sub(1, Ordering::SeqCst);
    done
}

/// From now on, no other thread comes back. Waits for those that are on their way.
pub(crate) fn end(py: Python<'_>) {
    ENDS_IT.set(true);
    ENDS.store(true, Ordering::SeqCst);
    py.detach(|| {
        let until = Instant::now() + PATIENCE;
        while COME_BACK.load(Ordering::SeqCst) > 0 && Instant::now() < until {
            thread::sleep(LOOK);
        }
    });
}

/// In a forked child: the threads of its parent are not there.
pub(crate) fn forked() {
    ENDS.store(false, Ordering::SeqCst);
    COME_BACK.store(0, Ordering::SeqCst);
}
