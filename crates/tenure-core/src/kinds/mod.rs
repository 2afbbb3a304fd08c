//! The kinds of lock, one file each.

mod mutex;

pub use mutex::{Lock, Mutex, TryLock};
