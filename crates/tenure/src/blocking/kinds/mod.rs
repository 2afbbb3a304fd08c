//! The kinds of lock, for blocking callers.

mod all;
mod election;
mod inspect;
mod latch;
mod mutex;
mod once;
pub mod reentrant;
mod rwlock;
mod semaphore;
mod settings;

pub use all::{All, AllGuard};
pub use election::{Election, Leadership};
pub use latch::Latch;
pub use mutex::Mutex;
pub use once::{Once, SlotRun};
pub use reentrant::{Reentrant, ReentrantGuard};
pub use rwlock::RwLock;
pub use semaphore::Semaphore;
