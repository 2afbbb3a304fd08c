//! The guard of a writer, and how it becomes a reader's.

use std::{ops::Deref, time::Duration};

use tenure_core::ReleaseError;

use super::{guard::Guard, watch::of_parent};

/// One exclusive hold of an [`RwLock`](super::RwLock): a [`Guard`] that can become a reader's.
#[must_use = "the lock is released as soon as its guard is dropped"]
pub struct WriteGuard(pub(super) Guard);

impl WriteGuard {
    pub(super) fn new(guard: Guard) -> Self {
        Self(guard)
    }

    /// Lets other readers in and becomes one of them, with the same token and lease. Its callbacks for a loss stay in
    /// place.
    ///
    /// No writer gets the lock in between, so this guard goes on to read what it wrote.
    ///
    /// # Errors
    /// [`DowngradeError`] contains what the caller has now. That hold is renewed until the error is dropped. The store
    /// is asked again for up to two seconds.
    ///
    /// ```
    /// use tenure::blocking::{DowngradeError, Tenure};
    ///
    /// let prices = Tenure::open("memory:")?.rwlock("prices");
    /// let reading = match prices.write()?.downgrade() {
    ///     Err(DowngradeError::StillWriting { guard, .. }) => guard.downgrade()?, // once more
    ///     done => done?,
    /// };
    /// assert!(prices.try_read()?.is_some());
    /// reading.release()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn downgrade(self) -> Result<Guard, DowngradeError> {
        let (guard, watch) = self.0.into_parts();
        let (name, token) = (guard.name().clone(), guard.token());
        let downgraded = watch.thread.wait_for(crate::WriteGuard::from(guard).downgrade());
        match downgraded.unwrap_or_else(|| Err(of_parent(name, token).into())) {
            Ok(guard) => Ok(Guard::from_parts(guard, watch)),
            Err(error) => {
                let writing =
                    |guard: crate::WriteGuard, watch| Self(Guard::from_parts(guard.into(), watch));
                Err(error.with_guards(watch, writing, Guard::from_parts))
            }
        }
    }

    /// Releases the lock: [`Guard::release`].
    ///
    /// # Errors
    /// As for [`Guard::release`].
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let writing = tenure.rwlock("prices").write()?;
    /// writing.release()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn release(self) -> Result<(), ReleaseError> {
        self.0.release()
    }

    /// Stops renewing without releasing: [`Guard::leave_to_expire`].
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let writing = tenure.rwlock("prices").write()?;
    /// println!("taken for {:?} more", writing.leave_to_expire());
    /// # Ok::<(), tenure::Error>(())
    /// ```
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

impl From<WriteGuard> for Guard {
    fn from(guard: WriteGuard) -> Self {
        guard.0
    }
}

/// Why a writer did not become a reader, and which hold it has instead: [`crate::DowngradeError`] with the guards of
/// blocking callers.
pub type DowngradeError = crate::DowngradeError<WriteGuard, Guard>;
