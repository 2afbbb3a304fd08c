//! A guard, for blocking callers.

use std::time::Duration;

use tenure_core::ReleaseError;

use super::{
    thread::BlockingThread,
    watch::{GuardCallbacks, answers, of_parent},
};

/// One hold of a lock: [`crate::Guard`] for blocking callers. While the guard exists, tenure renews its lease in the
/// background.
///
/// # Dropping
/// Releases the lock in the background and never blocks. To wait until it is released, use [`Guard::release`].
///
/// ```
/// use tenure::blocking::Tenure;
///
/// let guard = Tenure::open("memory:")?.mutex("copy").lock()?;
/// for file in ["a", "b"] {
///     let token = guard.check()?;                            // fails as soon as the lock is lost
///     println!("copying {file} under token {token}");
/// }
/// guard.release()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "the lock is released as soon as its guard is dropped"]
pub struct Guard {
    pub(super) guard: crate::Guard,
    watch: GuardCallbacks,
}

impl Guard {
    pub(super) fn new(guard: crate::Guard, thread: &'static BlockingThread) -> Self {
        Self { guard, watch: GuardCallbacks::new(thread) }
    }

    pub(super) fn from_parts(guard: crate::Guard, watch: GuardCallbacks) -> Self {
        Self { guard, watch }
    }

    pub(super) fn into_parts(self) -> (crate::Guard, GuardCallbacks) {
        (self.guard, self.watch)
    }

    answers!();

    /// Releases the lock and waits for the store's answer.
    ///
    /// # Errors
    /// [`ReleaseError::Lost`] if the hold had already ended. [`ReleaseError::InDoubt`] if the store does not answer
    /// within two seconds. The release is then retried in the background, and the lock is free when its lease ends at
    /// the latest.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let guard = tenure.mutex("job").lock()?;
    /// guard.release()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn release(self) -> Result<(), ReleaseError> {
        let Self { guard, watch } = self;
        let thread = watch.end();
        let (name, token) = (guard.name().clone(), guard.token());
        thread.wait_for(guard.release()).unwrap_or_else(|| Err(of_parent(name, token).into()))
    }

    /// Stops renewals without releasing the lock, which stays taken until its lease ends. Returns how much longer this
    /// holder may count on it.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let guard = tenure.mutex("job").lock()?;
    /// println!("taken for {:?} more", guard.leave_to_expire());
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use = "it says for how long the lock may still be counted on"]
    pub fn leave_to_expire(self) -> Duration {
        self.guard.leave_to_expire()
    }
}
