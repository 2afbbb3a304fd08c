//! The kinds of lock, with one file each.

mod all;
mod election;
mod inspect;
mod latch;
mod lock;
mod mutex;
pub(crate) mod note;
mod once;
mod reentrant;
mod rwlock;
mod semaphore;
mod target;
mod write_guard;

pub use all::{All, AllGuard, AllLock, AllTryLock};
pub use election::{Election, Leaders, Leadership};
pub use latch::{Latch, LatchWait};
pub use lock::{Lock, TryLock};
pub use mutex::Mutex;
pub use note::BreakNotice;
pub use once::{Begun, Once, Overlap, SkippedSlot, SlotRun};
pub use reentrant::{Reentrant, ReentrantGuard, ReentrantLock, ReentrantTryLock, Scope, scope};
pub use rwlock::RwLock;
pub use semaphore::Semaphore;
pub use write_guard::{DowngradeError, WriteGuard};
