//! Locks for programs without `async`.
//!
//! Every item has the same name as outside this module. A method that you await there blocks here until it is done.
//!
//! ```
//! # let url = "memory:";
//! use tenure::blocking::Tenure;
//!
//! let tenure = Tenure::open(url)?;                           // "file:" is the default directory on this machine
//! let guard = tenure.mutex("order:pay:42").lock()?;          // waits; the lease is renewed while it lives
//! println!("paying with token {}", guard.check()?);
//! guard.release()?;                                          // dropping it releases in the background
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where you can call it
//!
//! Anywhere, from a plain thread or inside a tokio runtime, which this module does not use. One thread of tenure wakes
//! all callers, or a caller receives its wake-up directly.
//!
//! On a worker of a multi-thread runtime, the other tasks move to another thread while you block. In a current-thread
//! runtime they stop, so never wait there for a lock that one of them holds. In `async` code, prefer [`crate::Tenure`].
//! You can use both side by side: see [`Tenure::from_async`].
//!
//! # Limits
//!
//! You cannot cancel a blocking wait. Bound it with `wait(…)`: when that time is up, tenure takes everything back, as
//! for a dropped future.
//!
//! A thread cannot be stopped when its lock is lost, so there is no `run`. Call [`Guard::check`] before each effect
//! that matters, or be notified by [`Guard::on_lost`].
//!
//! There is no separate builder. Pass what a [`crate::TenureBuilder`] builds to [`Tenure::from_async`].

mod context;
mod detached;
mod guard;
mod kinds;
mod leaders;
mod news;
mod oversight;
mod shown;
mod tenure;
mod thread;
mod watch;
mod watcher;
mod write_guard;

pub use guard::Guard;
pub use kinds::{
    All, AllGuard, Election, Latch, Leadership, Mutex, Once, Reentrant, ReentrantGuard, RwLock,
    Semaphore, SlotRun, reentrant,
};
pub use leaders::Leaders;
pub use tenure::Tenure;
#[cfg(feature = "macros")]
pub(crate) use thread::wait_for;
pub use watcher::Watcher;
pub use write_guard::{DowngradeError, WriteGuard};
