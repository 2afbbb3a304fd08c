//! The read-write lock: readers share it, and a writer excludes all others.

use std::{fmt, sync::Arc};

use tenure_proto::queue::{Kind, Mode};

use super::{Lock, TryLock, WriteGuard, inspect::inspect, target::LockTarget};
use crate::{
    acquire::Acquirer,
    options::{Options, setters},
};

/// A lock that is held by any number of readers together, or by one writer alone. This is a handle: making, cloning and
/// dropping it is cheap.
///
/// # Order
/// Neither readers nor writers starve. Both queue in the order in which they ask. A waiting writer stops every reader
/// that asks after it, and the readers ahead of it enter together. So a reader waits only for the writers ahead of it,
/// and a writer only for the holds ahead of it.
///
/// The writers of one process hand the lock over for a limited time, as for a [`Mutex`](super::Mutex). Each reader
/// queues in the store, and with `fair()` each writer does too.
///
/// A store without a queue keeps no order. There, a writer can starve behind readers that overlap for ever.
///
/// # Readers and writers of one task
/// The lock is not reentrant. A task that reads and then calls [`RwLock::write`] waits for itself until its `wait` is
/// over or its guard is lost. For the same reason there is no upgrade: two readers that both wait to become the writer
/// wait for each other. Release the read guard, lock for writing, and read the data again. The opposite direction is
/// safe: [`WriteGuard::downgrade`].
///
/// # Leases
/// Each hold has its own lease, which is renewed separately. A dead reader stops writers until its own lease ends, and
/// does not affect other readers.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::Arc;
/// use tenure_core::{MemoryStore, Tenure};
///
/// let tenure = Tenure::new(Arc::new(MemoryStore::new()));
/// let prices = tenure.rwlock("prices");
/// let writing = prices.write().await?;
/// assert!(prices.try_read().await?.is_none());
/// let reading = writing.downgrade().await?;
/// let another = prices.read().await?;
/// assert!(prices.try_write().await?.is_none());
/// assert_eq!(prices.inspect().await?.holders.len(), 2);
/// # drop((reading, another));
/// # Ok::<(), tenure_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
#[must_use = "a handle does nothing until it is locked"]
pub struct RwLock {
    target: LockTarget,
    options: Options,
}

impl RwLock {
    pub(crate) fn new(acquirer: &Arc<Acquirer>, name: &str) -> Self {
        Self {
            target: LockTarget::new(acquirer, name, Kind::ReadWrite),
            options: Options::default(),
        }
    }

    setters!();

    inspect!(target);

    /// Acquires the lock together with other readers, and waits until that is possible. Await the returned value.
    ///
    /// The guard's token is greater than that of every earlier writer, and smaller than that of every later writer. The
    /// tokens of readers do not compare with each other.
    ///
    /// # Errors
    /// See [`AcquireError`](crate::AcquireError). A store that does not support shared locks is not asked.
    ///
    /// # Cancel safety
    /// If you drop the future at any point, nothing remains for longer than one ttl (promise
    /// [S5](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s5-nothing-leaks)).
    pub fn read(&self) -> Lock {
        Lock::new(self.target.clone(), Mode::Shared, self.options.clone())
    }

    /// Acquires the lock for reading if no writer holds it or waits for it. Await the returned value, which is `None`
    /// otherwise.
    ///
    /// # Errors
    /// As for [`RwLock::read`]. A missing answer is an error, never `None`.
    ///
    /// # Cancel safety
    /// As for [`RwLock::read`].
    pub fn try_read(&self) -> TryLock {
        TryLock::new(self.target.clone(), Mode::Shared, self.options.clone())
    }

    /// Acquires the lock alone, and waits until it is free. Await the returned value.
    ///
    /// A task that already holds a guard of this lock, for reading or for writing, waits for itself.
    ///
    /// # Errors
    /// See [`AcquireError`](crate::AcquireError).
    ///
    /// # Cancel safety
    /// As for [`RwLock::read`].
    pub fn write(&self) -> Lock<WriteGuard> {
        Lock::new(self.target.clone(), Mode::Exclusive, self.options.clone())
    }

    /// Acquires the lock alone if it is free and no other contender comes first. Await the returned value, which is
    /// `None` otherwise.
    ///
    /// # Errors
    /// See [`AcquireError`](crate::AcquireError). A missing answer is an error, never `None`.
    ///
    /// # Cancel safety
    /// As for [`RwLock::read`].
    pub fn try_write(&self) -> TryLock<WriteGuard> {
        TryLock::new(self.target.clone(), Mode::Exclusive, self.options.clone())
    }
}

impl fmt::Debug for RwLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RwLock").field("target", &self.target).finish_non_exhaustive()
    }
}
