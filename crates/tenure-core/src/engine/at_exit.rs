//! What a program lets go of last, with a [`Tenure`](crate::Tenure) that is never dropped, as one in a `static`.

use std::{
    cell::RefCell,
    sync::{Arc, Weak},
    thread,
};

use super::Slots;

thread_local! {
    static AT_EXIT: AtExit = const { AtExit(RefCell::new(Vec::new())) };
}

/// What the main thread drops where its program ends, by a return from `main` or by `exit`, on systems whose C
/// library drops what belongs to that thread: Linux with glibc, macOS.
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

/// Where the program ends, what was let go of by then is waited for, if this is its main thread.
pub(crate) fn wait_for_releases_of(slots: &Arc<Slots>) {
    if thread::current().name() != Some("main") {
        return;
    }
    // Nothing is to be done where the thread ends already.
    let _ = AT_EXIT.try_with(|at_exit| {
        let mut all = at_exit.0.borrow_mut();
        all.retain(|slots| slots.strong_count() > 0);
        all.push(Arc::downgrade(slots));
    });
}
