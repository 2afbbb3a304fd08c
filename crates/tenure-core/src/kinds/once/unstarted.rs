//! A lock that was acquired for a slot, before its run is noted.

use std::ops::Deref;

use crate::Guard;

/// A lock that was acquired for a slot. Unless its run is noted, it is free as soon as it is released or dropped:
/// nothing ran that `hold_at_least` could be for.
#[derive(Debug)]
pub(super) struct UnstartedRun<'a> {
    guard: &'a Guard,
    is_started: bool,
}

impl<'a> UnstartedRun<'a> {
    pub(super) const fn new(guard: &'a Guard) -> Self {
        Self { guard, is_started: false }
    }

    /// Its run is noted.
    pub(super) fn started(mut self) {
        self.is_started = true;
    }
}

impl Deref for UnstartedRun<'_> {
    type Target = Guard;

    fn deref(&self) -> &Guard {
        self.guard
    }
}

impl Drop for UnstartedRun<'_> {
    fn drop(&mut self) {
        if !self.is_started {
            self.guard.cancel_hold_at_least();
        }
    }
}
