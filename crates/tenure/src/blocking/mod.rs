//! The same locks for programs without `async`.
//!
//! Everything has the name that it has outside this module, and the methods that are awaited there
//! block here until they are done.
//!
//! ```
//! # let url = "memory:";
//! use tenure::blocking::Tenure;
//!
//! let tenure = Tenure::open(url)?;                           // "" is the default place on this machine
//! let guard = tenure.mutex("order:pay:42").lock()?;          // waits; the lease is renewed while it lives
//! println!("paying with token {}", guard.check()?);
//! guard.release()?;                                          // dropping it releases in the background
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where it may be called
//!
//! Anywhere: from a plain thread, and from inside a tokio runtime, which is not used. One thread of
//! tenure's own wakes all callers, or a caller listens for its turn itself. On a worker of a multi-thread runtime the other tasks move
//! to another thread meanwhile; in a current-thread runtime they stand still, so never wait there
//! for a lock that one of them holds. `async` code does better with [`crate::Tenure`], and both can
//! be used side by side: see [`Tenure::from_async`].
//!
//! # What cannot be done
//!
//! A blocking wait cannot be dropped midway. Bound it with `wait(…)`; everything is taken back
//! then, as for a future that is dropped. And a thread cannot be stopped when its lock is lost, so
//! there is no `run`: look at [`Guard::check`] before each effect that matters, or be told by
//! [`Guard::on_lost`]. A [`crate::TenureBuilder`] is as good here as there: hand what it builds to
//! [`Tenure::from_async`].

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
mod thread_waker;
mod watch;
mod watcher;
mod write_guard;

pub use guard::Guard;
pub use kinds::{
    All, AllGuard, Election, Latch, Leadership, Mutex, Reentrant, ReentrantGuard, RwLock,
    Semaphore, reentrant,
};
pub use leaders::Leaders;
pub use tenure::Tenure;
#[cfg(feature = "macros")]
pub(crate) use thread::wait_for;
pub use watcher::Watcher;
pub use write_guard::{DowngradeError, WriteGuard};
