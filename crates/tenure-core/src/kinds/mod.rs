//! The kinds of lock, one file each.

mod lock;
mod mutex;
mod target;

pub use lock::{Lock, TryLock};
pub use mutex::Mutex;
