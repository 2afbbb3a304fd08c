//! Values of one process.

use std::mem;

use super::Process;

/// A value that a forked child forgets where it would drop it: a lock inside, which another thread of the parent may
/// have had at the fork, is never free there, and what the value would release is the parent's.
#[derive(Debug)]
pub(crate) struct Owned<T> {
    pub(crate) process: &'static Process,
    value: Option<T>,
}

impl<T> Owned<T> {
    pub(crate) fn new(process: &'static Process, value: T) -> Self {
        Self { process, value: Some(value) }
    }

    /// The value, unless it is that of a parent.
    pub(crate) fn get(&self) -> Option<&T> {
        self.value.as_ref().filter(|_| self.process.is_current())
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if !self.process.is_current() {
            mem::forget(self.value.take());
        }
    }
}
