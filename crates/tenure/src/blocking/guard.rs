//! A guard, for blocking callers.

use std::time::Duration;

use tenure_core::ReleaseError;

use super::{
    thread::BlockingThread,
    watch::{GuardCallbacks, answers, of_parent},
};

/// One hold of a lock: [`crate::Guard`] for blocking callers. While it lives its lease is renewed in
/// the background.
///
/// # Dropping
/// Releases in the background and never blocks. To know that it is done, use [`Guard::release`].
///
/// ```
/// use tenure::blocking::Tenure;
///
/// let guard = Tenure::open("memory:")?.mutex("copy").lock()?;
/// for file in ["a", "b"] {
///     let token = guard.check()?;                            // stops at once when the lock is lost
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

    /// Releases the lock and returns when the store has said so.
    ///
    /// # Errors
    /// [`ReleaseError::Lost`] when the hold had ended before; [`ReleaseError::InDoubt`] when the
    /// store did not answer within two seconds: the release is tried on in the background, and the
    /// lock is free at the latest when its lease ends.
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

    /// Stops renewing without releasing: the lock stays taken until its lease ends. Says how much
    /// of it this holder may still count on.
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
