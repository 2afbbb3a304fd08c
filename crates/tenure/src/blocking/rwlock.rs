//! The read-write lock: readers share, a writer excludes.

use std::{ops::Deref, time::Duration};

use tenure_core::{AcquireError, DowngradeError, ReleaseError};

use super::{guard::Guard, settings::setters, waiting::Home};

/// A lock that many readers hold together, or one writer alone: [`crate::RwLock`] for blocking
/// callers.
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
#[derive(Clone, Debug)]
#[must_use = "a handle does nothing until it is locked"]
pub struct RwLock {
    home: Home,
    handle: crate::RwLock,
}

impl RwLock {
    pub(super) fn new(home: Home, handle: crate::RwLock) -> Self {
        Self { home, handle }
    }

    setters!();

    /// Blocks until this caller is one of the readers.
    ///
    /// # Errors
    /// As for [`Mutex::lock`](super::Mutex::lock).
    pub fn read(&self) -> Result<Guard, AcquireError> {
        self.home.acquire(self.handle.read())
    }

    /// Becomes a reader if no writer has the lock or comes first.
    ///
    /// # Errors
    /// As for [`Mutex::try_lock`](super::Mutex::try_lock).
    pub fn try_read(&self) -> Result<Option<Guard>, AcquireError> {
        self.home.try_acquire(self.handle.try_read())
    }

    /// Blocks until this caller writes alone.
    ///
    /// # Errors
    /// As for [`Mutex::lock`](super::Mutex::lock).
    pub fn write(&self) -> Result<WriteGuard, AcquireError> {
        self.home.acquire(self.handle.write()).map(WriteGuard)
    }

    /// Becomes the writer if nobody has the lock or comes first.
    ///
    /// # Errors
    /// As for [`Mutex::try_lock`](super::Mutex::try_lock).
    pub fn try_write(&self) -> Result<Option<WriteGuard>, AcquireError> {
        Ok(self.home.try_acquire(self.handle.try_write())?.map(WriteGuard))
    }
}

/// One exclusive hold of an [`RwLock`]: a [`Guard`] that can become a reader's.
#[derive(Debug)]
#[must_use = "the lock is released as soon as its guard is dropped"]
pub struct WriteGuard(Guard);

impl WriteGuard {
    /// Lets other readers in and goes on as one of them, with the same token and lease.
    ///
    /// # Errors
    /// As for [`crate::WriteGuard::downgrade`]. What the caller has then comes with the error;
    /// dropping the error releases it.
    pub fn downgrade(self) -> Result<Guard, DowngradeError> {
        self.0.downgrade()
    }

    /// Releases the lock: [`Guard::release`].
    ///
    /// # Errors
    /// As for [`Guard::release`].
    pub fn release(self) -> Result<(), ReleaseError> {
        self.0.release()
    }

    /// Stops renewing without releasing: [`Guard::leave_to_expire`].
    #[must_use = "it says for how long the lock may still be counted on"]
    pub fn leave_to_expire(self) -> Duration {
        self.0.leave_to_expire()
    }
}

impl Deref for WriteGuard {
    type Target = Guard;

    fn deref(&self) -> &Guard {
        &self.0
    }
}
