//! The mutex, with at most one holder.

use std::{fmt, sync::Arc};

use tenure_proto::{
    queue::{Kind, Mode},
    schedule::Schedule,
};

use super::{Lock, Once, Reentrant, TryLock, inspect::inspect, target::LockTarget};
use crate::{
    acquire::Acquirer,
    options::{Options, setters},
};

/// A lock that at most one guard holds at a time. This is a handle: making, cloning and dropping it is cheap.
///
/// It is not reentrant. A task that holds it and locks it again waits for itself, unless both acquisitions go through
/// [`Mutex::reentrant`]. On tokio, the mutex uses the current runtime, which must have timers and I/O. Elsewhere,
/// tenure's own thread does that work.
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

    /// Turns this into the same lock for scopes, which can enter it again while they hold it.
    pub fn reentrant(self) -> Reentrant {
        Reentrant::new(self.target.with_span_name("reentrant"), self.options)
    }

    /// Makes it the lock of work that is done once in each slot of a schedule, by whichever process gets there first. See
    /// [`Once`].
    pub fn once(self, schedule: impl Schedule) -> Once {
        Once::new(self.target, self.options, Arc::new(schedule))
    }

    pub(super) fn into_parts(self) -> (LockTarget, Options) {
        (self.target, self.options)
    }

    /// Acquires the lock, and waits until it is free. Await the returned value.
    ///
    /// The tasks of this process queue among themselves, and one of them queues in the store. They hand the lock over
    /// for a limited time (promise [S8](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s8-order)).
    /// With `fair()`, each task queues in the store.
    ///
    /// # Errors
    /// See [`AcquireError`](crate::AcquireError): the wait ended, the store could not be asked, or its answer never
    /// came. Transient faults are retried for up to one ttl.
    ///
    /// # Cancel safety
    /// If you drop the future at any point, nothing remains for longer than one ttl: the engine takes back what the
    /// store may have granted or queued (promise
    /// [S5](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s5-nothing-leaks)).
    pub fn lock(&self) -> Lock {
        Lock::new(self.target.clone(), Mode::Exclusive, self.options.clone())
    }

    /// Acquires the lock if it is free. Await the returned value, which is `None` if the lock is held or another
    /// contender comes first. Faults are not retried.
    ///
    /// # Errors
    /// See [`AcquireError`](crate::AcquireError). A missing answer is an error, never `None`.
    ///
    /// # Cancel safety
    /// As for [`Mutex::lock`].
    pub fn try_lock(&self) -> TryLock {
        TryLock::new(self.target.clone(), Mode::Exclusive, self.options.clone())
    }
}

impl fmt::Debug for Mutex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").field("target", &self.target).finish_non_exhaustive()
    }
}
