//! A lock that was acquired for a slot, before its run is noted.

use std::ops::Deref;

use crate::Guard;

/// A lock that was acquired for a slot. Unless its run is noted, it is free as soon as it is released or dropped:
/// nothing ran that `hold_at_least` could be for.
#[derive(Debug)]
pub(super) struct UnstartedRun<'a>(&'a Guard, bool);

impl<'a> UnstartedRun<'a> {
    pub(super) const fn new(guard: &'a Guard) -> Self {
        Self(guard, false)
    }

    /// Its run is noted.
    pub(super) fn started(mut self) {
        self.1 = true;
    }
}

impl Deref for UnstartedRun<'_> {
    type Target = Guard;

    fn deref(&self) -> &Guard {
        self.0
    }
}

impl Drop for UnstartedRun<'_> {
    fn drop(&mut self) {
        if !self.1 {
            self.0.cancel_hold_at_least();
        }
    }
}
