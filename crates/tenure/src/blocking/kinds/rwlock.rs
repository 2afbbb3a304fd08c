//! The read-write lock: readers share it, a writer excludes all others.

use tenure_core::AcquireError;

use super::{inspect::inspect, settings::setters};
use crate::blocking::{WriteGuard, context::BlockingContext, guard::Guard};

/// A lock that many readers hold together, or one writer alone: [`crate::RwLock`] for blocking callers.
///
/// ```
/// use tenure::blocking::Tenure;
///
/// let settings = Tenure::open("memory:")?.rwlock("settings");
/// let (one, other) = (settings.read()?, settings.read()?);
/// assert!(settings.try_write()?.is_none());
/// drop((one, other));
/// settings.write()?.release()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use = "a handle does nothing until it is locked"]
pub struct RwLock {
    context: BlockingContext,
    pub(in crate::blocking) handle: crate::RwLock,
}

impl RwLock {
    pub(in crate::blocking) fn new(context: BlockingContext, handle: crate::RwLock) -> Self {
        Self { context, handle }
    }

    setters!();

    inspect!();

    /// Acquires the lock as a reader, and blocks until it has it.
    ///
    /// # Errors
    /// As for [`Mutex::lock`](super::Mutex::lock).
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let reading = tenure.rwlock("prices").read()?;
    /// reading.release()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn read(&self) -> Result<Guard, AcquireError> {
        self.context.acquire(self.handle.read())
    }

    /// Acquires the lock as a reader, if no writer holds it and no waiter is ahead in the queue.
    ///
    /// # Errors
    /// As for [`Mutex::try_lock`](super::Mutex::try_lock).
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let writing = tenure.rwlock("prices").write()?;
    /// assert!(tenure.rwlock("prices").try_read()?.is_none());
    /// # drop(writing);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn try_read(&self) -> Result<Option<Guard>, AcquireError> {
        self.context.try_acquire(self.handle.try_read())
    }

    /// Acquires the lock as its only writer, and blocks until it has it.
    ///
    /// # Errors
    /// As for [`Mutex::lock`](super::Mutex::lock).
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let writing = tenure.rwlock("prices").write()?;
    /// writing.release()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn write(&self) -> Result<WriteGuard, AcquireError> {
        self.context.acquire(self.handle.write()).map(WriteGuard::new)
    }

    /// Acquires the lock as its writer, if it has no holder and no waiter is ahead in the queue.
    ///
    /// # Errors
    /// As for [`Mutex::try_lock`](super::Mutex::try_lock).
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let reading = tenure.rwlock("prices").read()?;
    /// assert!(tenure.rwlock("prices").try_write()?.is_none());
    /// # drop(reading);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn try_write(&self) -> Result<Option<WriteGuard>, AcquireError> {
        Ok(self.context.try_acquire(self.handle.try_write())?.map(WriteGuard::new))
    }
}
