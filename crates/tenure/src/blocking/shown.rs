//! What `Debug` shows: the same as outside this module, without the parts that block.

use std::fmt;

use super::{
    All, AllGuard, Election, Guard, Latch, Leaders, Leadership, Mutex, Once, Reentrant,
    ReentrantGuard, RwLock, Semaphore, SlotRun, Tenure, Watcher, WriteGuard,
};

macro_rules! shown_by {
    ($($field:tt: $($type:ident),+;)+) => {$($(
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.$field.fmt(f)
            }
        }
    )+)+};
}

shown_by! {
    handle: All, Election, Latch, Mutex, Once, Reentrant, RwLock, Semaphore;
    guard: AllGuard, Guard, ReentrantGuard, SlotRun;
    0: Leadership, WriteGuard;
    tenure: Tenure;
    leaders: Leaders;
    watcher: Watcher;
}
