//! The semaphore: a number of permits.

use tenure_core::{AcquireError, InspectError};

use super::{inspect::inspect, settings::setters};
use crate::blocking::{context::BlockingContext, guard::Guard};

/// A lock with a number of permits: [`crate::Semaphore`] for blocking callers.
///
/// ```
/// use tenure::blocking::Tenure;
///
/// let printers = Tenure::open("memory:")?.semaphore("printers", 2);
/// let (one, other) = (printers.acquire()?, printers.acquire()?);
/// assert!(printers.try_acquire()?.is_none());
/// assert_eq!(printers.available()?, 0);
/// drop((one, other));
/// printers.acquire_many(2)?.release()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use = "a handle does nothing until permits are acquired"]
pub struct Semaphore {
    context: BlockingContext,
    pub(in crate::blocking) handle: crate::Semaphore,
}

impl Semaphore {
    pub(in crate::blocking) fn new(context: BlockingContext, handle: crate::Semaphore) -> Self {
        Self { context, handle }
    }

    setters!();

    inspect!();

    /// Returns how many permits are free: this handle's number, less those taken in the store at one moment.
    ///
    /// # Errors
    /// As for [`Semaphore::inspect`].
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let uploads = tenure.semaphore("uploads", 3);
    /// let one = uploads.acquire()?;
    /// assert_eq!(uploads.available()?, 2);
    /// # drop(one);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn available(&self) -> Result<u32, InspectError> {
        Ok(self.inspect()?.available(self.permits()))
    }

    /// Returns how many permits there are.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// assert_eq!(tenure.semaphore("uploads", 3).permits(), 3);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    pub const fn permits(&self) -> u32 {
        self.handle.permits()
    }

    /// Acquires one permit, and blocks until it has it.
    ///
    /// # Errors
    /// As for [`Semaphore::acquire_many`].
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let one = tenure.semaphore("uploads", 3).acquire()?;
    /// one.release()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn acquire(&self) -> Result<Guard, AcquireError> {
        self.acquire_many(1)
    }

    /// Acquires `take` permits at once, and blocks until it has them.
    ///
    /// # Errors
    /// As for [`Mutex::lock`](super::Mutex::lock). Taking more permits than there are is an error.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let two = tenure.semaphore("uploads", 3).acquire_many(2)?;
    /// two.release()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn acquire_many(&self, take: u32) -> Result<Guard, AcquireError> {
        self.context.acquire(self.handle.acquire_many(take))
    }

    /// Acquires one permit if it is free.
    ///
    /// # Errors
    /// As for [`Semaphore::try_acquire_many`].
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let Some(one) = tenure.semaphore("uploads", 3).try_acquire()? else { return Ok(()) };
    /// one.release()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn try_acquire(&self) -> Result<Option<Guard>, AcquireError> {
        self.try_acquire_many(1)
    }

    /// Acquires `take` permits if they are free and no waiter is ahead in the queue.
    ///
    /// # Errors
    /// As for [`Mutex::try_lock`](super::Mutex::try_lock).
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let all = tenure.semaphore("uploads", 3).acquire_many(3)?;
    /// assert!(tenure.semaphore("uploads", 3).try_acquire_many(1)?.is_none());
    /// # drop(all);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn try_acquire_many(&self, take: u32) -> Result<Option<Guard>, AcquireError> {
        self.context.try_acquire(self.handle.try_acquire_many(take))
    }
}
