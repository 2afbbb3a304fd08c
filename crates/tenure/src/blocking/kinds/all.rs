//! Several locks, held together.

use std::{future::IntoFuture, ops::Deref, time::Duration};

use tenure_core::{AcquireError, AllGuard as Parts, AllReleaseError};

use super::settings::setters;
use crate::blocking::{
    context::BlockingContext,
    guard::Guard,
    thread::BlockingThread,
    watch::{GuardCallbacks, news, of_parent},
};

/// Several mutexes, of which all or none are held: [`crate::All`] for blocking callers.
///
/// ```
/// use tenure::blocking::Tenure;
///
/// let both = Tenure::open("memory:")?.all(["account:7", "account:3"]);
/// let guard = both.lock()?;
/// println!("account 7 checks token {:?}", guard.token_of("account:7"));
/// guard.release()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use = "a handle does nothing until it is locked"]
pub struct All {
    context: BlockingContext,
    pub(in crate::blocking) handle: crate::All,
}

impl All {
    pub(in crate::blocking) fn new(context: BlockingContext, handle: crate::All) -> Self {
        Self { context, handle }
    }

    setters!();

    /// Acquires all of them, and blocks until it has them.
    ///
    /// # Errors
    /// As for [`Mutex::lock`](super::Mutex::lock). The error names the lock that was not acquired.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let both = tenure.all(["account:1", "account:2"]).lock()?;
    /// both.release()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn lock(&self) -> Result<AllGuard, AcquireError> {
        let parts = self.context.lock(self.handle.lock())?;
        Ok(AllGuard::new(parts, self.context.thread))
    }

    /// Acquires all of them if all are free.
    ///
    /// # Errors
    /// As for [`Mutex::try_lock`](super::Mutex::try_lock).
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let Some(both) = tenure.all(["account:1", "account:2"]).try_lock()? else { return Ok(()) };
    /// both.release()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn try_lock(&self) -> Result<Option<AllGuard>, AcquireError> {
        let parts = self.context.wait(self.handle.try_lock().into_future())?;
        Ok(parts.map(|parts| AllGuard::new(parts, self.context.thread)))
    }
}

/// Several locks, held together: [`crate::AllGuard`] with methods that block.
#[must_use = "the locks are released as soon as their guard is dropped"]
pub struct AllGuard {
    pub(in crate::blocking) guard: Parts,
    watch: GuardCallbacks,
}

impl AllGuard {
    fn new(guard: Parts, thread: &'static BlockingThread) -> Self {
        Self { guard, watch: GuardCallbacks::new(thread) }
    }

    news!();

    /// Returns a guard for each lock, which you release separately from now on. Callbacks for a loss have to be set
    /// again.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let both = tenure.all(["account:1", "account:2"]).lock()?;
    /// for guard in both.into_parts() {
    ///     guard.release()?;
    /// }
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use = "the locks are released as soon as their guards are dropped"]
    pub fn into_parts(self) -> Vec<Guard> {
        let Self { guard, watch } = self;
        let thread = watch.end();
        guard.into_parts().into_iter().map(|part| Guard::new(part, thread)).collect()
    }

    /// Releases all of them and waits for the answer of every store.
    ///
    /// # Errors
    /// As for [`crate::AllGuard::release`].
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let both = tenure.all(["account:1", "account:2"]).lock()?;
    /// both.release()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn release(self) -> Result<(), AllReleaseError> {
        let Self { guard, watch } = self;
        let thread = watch.end();
        let tokens: Vec<_> = guard.tokens().map(|(name, token)| (name.clone(), token)).collect();
        thread.wait_for(guard.release()).unwrap_or_else(|| {
            let parts = tokens.len();
            let of_parent = |(name, token)| of_parent(name, token).into();
            Err(AllReleaseError::new(parts, tokens.into_iter().map(of_parent).collect()))
        })
    }

    /// Stops renewing all of them without releasing them: [`crate::AllGuard::leave_to_expire`].
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let both = tenure.all(["account:1", "account:2"]).lock()?;
    /// println!("taken for {:?} more", both.leave_to_expire());
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use = "it says for how long the locks may still be counted on"]
    pub fn leave_to_expire(self) -> Duration {
        self.guard.leave_to_expire()
    }
}

impl Deref for AllGuard {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.guard
    }
}
