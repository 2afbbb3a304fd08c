//! The last releases of a program whose [`Tenure`](crate::Tenure) is never dropped, such as one in a `static`.

use std::{
    cell::RefCell,
    sync::{Arc, Weak},
    thread,
};

use super::Slots;

thread_local! {
    static AT_EXIT: AtExit = const { AtExit(RefCell::new(Vec::new())) };
}

/// A value that the main thread drops when its program ends, by a return from `main` or by `exit`. This works on
/// systems whose C library drops a thread's values: Linux with glibc, and macOS.
struct AtExit(RefCell<Vec<Weak<Slots>>>);

impl Drop for AtExit {
    fn drop(&mut self) {
        for slots in self.0.take() {
            if let Some(slots) = slots.upgrade() {
                slots.wait_for_releases();
            }
        }
    }
}

/// If this is the main thread, makes the end of the program wait for the releases that have begun.
pub(crate) fn wait_for_releases_of(slots: &Arc<Slots>) {
    if thread::current().name() != Some("main") {
        return;
    }
    // If the thread is already ending, there is nothing to do.
    let _ = AT_EXIT.try_with(|at_exit| {
        let mut all = at_exit.0.borrow_mut();
        all.retain(|slots| slots.strong_count() > 0);
        all.push(Arc::downgrade(slots));
    });
}
