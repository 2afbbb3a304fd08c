//! The mutex: at most one holder.

use std::{fmt, sync::Arc};

use tenure_proto::queue::{Kind, Mode};

use super::{Lock, Reentrant, TryLock, inspect::inspect, target::LockTarget};
use crate::{
    acquire::Acquirer,
    options::{Options, setters},
};

/// A lock that at most one guard holds at a time. A handle: cheap to make, to clone and to drop.
///
/// It is not reentrant: a task that holds it and locks it again waits for itself, unless both go
/// through [`Mutex::reentrant`]. On tokio it uses the runtime that it is asked in, which has to have
/// timers and I/O; elsewhere a thread of tenure's own does that work.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::{sync::Arc, time::Duration};
/// use tenure_core::{MemoryStore, Tenure};
///
/// let tenure = Tenure::new(Arc::new(MemoryStore::new()));
/// let nightly = tenure.mutex("nightly").ttl(Duration::from_secs(10)).label("worker-7");
/// let guard = nightly.lock().wait(Duration::from_secs(5)).await?;
/// assert!(nightly.try_lock().await?.is_none());
/// let seen = nightly.inspect().await?;
/// println!("{} holds it, {} wait", seen.holders[0].label, seen.waiters.len());
/// guard.release().await?;
/// # Ok::<(), tenure_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
#[must_use = "a handle does nothing until it is locked"]
pub struct Mutex {
    target: LockTarget,
    options: Options,
}

impl Mutex {
    pub(crate) fn new(acquirer: &Arc<Acquirer>, name: &str) -> Self {
        Self { target: LockTarget::new(acquirer, name, Kind::Mutex), options: Options::default() }
    }

    setters!();

    inspect!(target);

    /// The same lock for scopes that enter it again while they hold it.
    pub fn reentrant(self) -> Reentrant {
        Reentrant::new(self.target.known_as("reentrant"), self.options)
    }

    pub(super) fn into_parts(self) -> (LockTarget, Options) {
        (self.target, self.options)
    }

    /// Acquires the lock, waiting for it: await the returned value.
    ///
    /// Tasks of this process queue among themselves, and one of them in the store; they pass the
    /// lock on for a bounded turn (promise [S8](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s8-order)). With `fair()` each queues in the store.
    ///
    /// # Cancel safety
    /// Dropping the future at any point leaves nothing behind for longer than one ttl: the engine
    /// takes back what the store may have granted or queued (promise [S5](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s5-nothing-leaks)).
    ///
    /// # Errors
    /// See [`AcquireError`](crate::AcquireError): a wait that ended, a store that could not be asked, or an answer that
    /// never came. Passing faults are ridden out for up to one ttl.
    pub fn lock(&self) -> Lock {
        Lock::new(self.target.clone(), Mode::Exclusive, self.options.clone())
    }

    /// Acquires the lock if it is free: await the returned value, which is `None` if somebody else
    /// has the lock or comes first. Faults are not ridden out.
    ///
    /// # Cancel safety
    /// As for [`Mutex::lock`].
    ///
    /// # Errors
    /// See [`AcquireError`](crate::AcquireError). An answer that never came is an error, never `None`.
    pub fn try_lock(&self) -> TryLock {
        TryLock::new(self.target.clone(), Mode::Exclusive, self.options.clone())
    }
}

impl fmt::Debug for Mutex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").field("target", &self.target).finish_non_exhaustive()
    }
}
