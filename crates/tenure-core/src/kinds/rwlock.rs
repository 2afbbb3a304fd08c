//! The read-write lock: readers share, a writer excludes.

use std::{fmt, sync::Arc};

use tenure_proto::queue::{Kind, Mode};

use super::{Lock, TryLock, WriteGuard, inspect::inspect, target::LockTarget};
use crate::{
    acquire::Acquirer,
    options::{Options, setters},
};

/// A lock that any number of readers hold together, or one writer alone. A handle: cheap to make,
/// to clone and to drop.
///
/// # Order
/// Neither side starves. Readers and writers stand in one line in the order of their asking: a
/// writer that waits stops every reader that asks after it, and readers that stand in front of it
/// enter together. So a reader waits for no more than the writers ahead of it, and a writer for no
/// more than the holds ahead of it. Writers of one process pass the lock on among themselves for
/// a bounded turn, as a [`Mutex`](super::Mutex) does; readers each stand in the store's line, and
/// with `fair()` writers do too.
///
/// A store without a queue keeps no order: there a writer can starve behind readers that overlap
/// for ever.
///
/// # Readers and writers of one task
/// The lock is not reentrant. A task that reads and then calls [`RwLock::write`] waits for itself
/// until its `wait` is over or its guard is lost. For the same reason there is no upgrade: two
/// readers that both wait to become the writer wait for each other. Release the read guard, lock
/// for writing, and look again at what was read. The other way is safe:
/// [`WriteGuard::downgrade`].
///
/// # Leases
/// Each hold has its own lease, renewed by itself. A reader that died stops a writer until its own
/// lease ends, and no other reader notices.
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

    /// Acquires the lock together with other readers, waiting for it: await the returned value.
    ///
    /// The guard's token is greater than that of every writer before it and smaller than that of
    /// every writer after it; the tokens of readers among each other mean nothing.
    ///
    /// # Cancel safety
    /// Dropping the future at any point leaves nothing behind for longer than one ttl (promise [S5](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s5-nothing-leaks)).
    ///
    /// # Errors
    /// See [`AcquireError`](crate::AcquireError). A store that knows no readers is not asked.
    pub fn read(&self) -> Lock {
        Lock::new(self.target.clone(), Mode::Shared, self.options.clone())
    }

    /// Acquires the lock for reading if no writer has it or waits for it: await the returned value,
    /// which is `None` otherwise.
    ///
    /// # Cancel safety
    /// As for [`RwLock::read`].
    ///
    /// # Errors
    /// As for [`RwLock::read`]. An answer that never came is an error, never `None`.
    pub fn try_read(&self) -> TryLock {
        TryLock::new(self.target.clone(), Mode::Shared, self.options.clone())
    }

    /// Acquires the lock alone, waiting for it: await the returned value.
    ///
    /// A task that holds a guard of this lock already, for reading or for writing, waits for
    /// itself.
    ///
    /// # Cancel safety
    /// As for [`RwLock::read`].
    ///
    /// # Errors
    /// See [`AcquireError`](crate::AcquireError).
    pub fn write(&self) -> Lock<WriteGuard> {
        Lock::new(self.target.clone(), Mode::Exclusive, self.options.clone())
    }

    /// Acquires the lock alone if nobody has it or comes first: await the returned value, which is
    /// `None` otherwise.
    ///
    /// # Cancel safety
    /// As for [`RwLock::read`].
    ///
    /// # Errors
    /// See [`AcquireError`](crate::AcquireError). An answer that never came is an error, never
    /// `None`.
    pub fn try_write(&self) -> TryLock<WriteGuard> {
        TryLock::new(self.target.clone(), Mode::Exclusive, self.options.clone())
    }
}

impl fmt::Debug for RwLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RwLock").field("target", &self.target).finish_non_exhaustive()
    }
}
