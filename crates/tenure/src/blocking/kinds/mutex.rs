//! The mutex: at most one holder.

use tenure_core::AcquireError;

use super::{inspect::inspect, settings::setters};
use crate::blocking::{Once, Reentrant, context::BlockingContext, guard::Guard};

/// A lock that at most one guard holds at a time: [`crate::Mutex`] for blocking callers.
///
/// ```
/// use std::time::Duration;
/// use tenure::blocking::Tenure;
///
/// let nightly = Tenure::open("memory:")?
///     .mutex("nightly")
///     .wait(Duration::from_secs(5))
///     .on_busy(|busy| eprintln!("waiting, {} ahead", busy.ahead));
/// let guard = nightly.lock()?;
/// assert!(nightly.try_lock()?.is_none());
/// guard.release()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use = "a handle does nothing until it is locked"]
pub struct Mutex {
    context: BlockingContext,
    pub(in crate::blocking) handle: crate::Mutex,
}

impl Mutex {
    pub(in crate::blocking) fn new(context: BlockingContext, handle: crate::Mutex) -> Self {
        Self { context, handle }
    }

    pub(in crate::blocking) fn into_async(self) -> crate::Mutex {
        self.handle
    }

    setters!();

    inspect!();

    /// Returns the same lock as a reentrant mutex: a [`Scope`](crate::reentrant::Scope) that holds it may enter it
    /// again.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let account = tenure.mutex("account:7").reentrant();
    /// tenure::blocking::reentrant::scope(|| {
    ///     let outer = account.lock()?;
    ///     let inner = account.lock()?;
    ///     assert_eq!(outer.token(), inner.token());
    ///     Ok::<(), tenure::Error>(())
    /// })?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn reentrant(self) -> Reentrant {
        Reentrant::new(self.context, self.handle.reentrant())
    }

    /// Returns what does work once in each slot of a schedule, under this lock: see [`crate::once`].
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let day = tenure::once::NamedSlot::new("2026-11-28")?;
    /// if let Ok(run) = tenure.mutex("report").once(day).begin()? {
    ///     run.finish()?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn once(self, schedule: impl crate::once::Schedule) -> Once {
        Once::new(self.context, self.handle.once(schedule))
    }

    /// Acquires the lock, and blocks until it has it.
    ///
    /// # Errors
    /// [`AcquireError`] if the wait ended, if the store could not be asked, or if its answer never came. Transient
    /// faults are retried for up to one ttl.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let guard = tenure.mutex("job").lock()?;
    /// guard.release()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn lock(&self) -> Result<Guard, AcquireError> {
        self.context.acquire(self.handle.lock())
    }

    /// Acquires the lock if it is free. Returns `None` if another holder has it or a waiter is ahead in the queue.
    ///
    /// # Errors
    /// [`AcquireError`]. An answer that never came is an error, never `None`.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let Some(guard) = tenure.mutex("job").try_lock()? else { return Ok(()) };
    /// guard.release()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn try_lock(&self) -> Result<Option<Guard>, AcquireError> {
        self.context.try_acquire(self.handle.try_lock())
    }
}
