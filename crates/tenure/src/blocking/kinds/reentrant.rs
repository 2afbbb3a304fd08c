//! The reentrant mutex: a scope that holds it enters it again without asking the store.

use std::future::IntoFuture;

use tenure_core::{AcquireError, ReleaseError, Scope, kinds};

use super::{inspect::inspect, settings::setters};
use crate::blocking::{
    context::BlockingContext,
    watch::{GuardCallbacks, answers, of_parent},
};

/// Calls `work` in a new [`Scope`] on this thread, so that reentrant locks recognize it: [`crate::reentrant::scope`]
/// for blocking callers.
///
/// A thread that `work` starts has no scope, unless you carry one over with [`Scope::current`] and
/// [`Scope::run_blocking`].
///
/// ```
/// use tenure::blocking::{Tenure, reentrant::scope};
///
/// let ledger = Tenure::open("memory:")?.mutex("ledger").reentrant();
/// scope(|| {
///     let _outer = ledger.lock()?;
///     let _inner = ledger.lock()?; // entered: no store is asked
///     Ok::<_, tenure::Error>(())
/// })?;
/// # Ok::<(), tenure::Error>(())
/// ```
pub fn scope<O>(work: impl FnOnce() -> O) -> O {
    Scope::new().run_blocking(work)
}

/// A mutex that a [`Scope`] which holds it may enter again: [`crate::kinds::Reentrant`] for blocking callers.
///
/// ```
/// use tenure::blocking::{Tenure, reentrant::scope};
///
/// let ledger = Tenure::open("memory:")?.mutex("ledger").reentrant();
/// scope(|| {
///     let outer = ledger.lock()?;
///     let inner = ledger.lock()?; // entered: no store is asked
///     assert_eq!(inner.token(), outer.token());
///     inner.release()?;
///     outer.release()?;
///     Ok::<_, tenure::Error>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use = "a handle does nothing until it is locked"]
pub struct Reentrant {
    context: BlockingContext,
    pub(in crate::blocking) handle: kinds::Reentrant,
}

impl Reentrant {
    pub(in crate::blocking) fn new(context: BlockingContext, handle: kinds::Reentrant) -> Self {
        Self { context, handle }
    }

    setters!();

    inspect!();

    /// Returns the same lock for `scope`, instead of the scope in which the caller runs.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// use tenure::{blocking::reentrant, reentrant::Scope};
    ///
    /// let scope = Scope::new();
    /// let account = tenure.mutex("account:7").reentrant().within(&scope);
    /// let (outer, inner) = (account.lock()?, account.lock()?);
    /// assert_eq!(outer.token(), inner.token());
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn within(&self, scope: &Scope) -> Self {
        Self { context: self.context.clone(), handle: self.handle.within(scope) }
    }

    /// Acquires the lock, and blocks until it has it. Enters it again if the scope holds it.
    ///
    /// # Errors
    /// [`AcquireError::NoScope`] if there is no scope, otherwise as for [`Mutex::lock`](super::Mutex::lock).
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let account = tenure.mutex("account:7").reentrant();
    /// let guard = tenure::blocking::reentrant::scope(|| account.lock())?;
    /// guard.release()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn lock(&self) -> Result<ReentrantGuard, AcquireError> {
        let guard = self.context.lock(self.handle.lock())?;
        Ok(self.guarded(guard))
    }

    /// Acquires the lock if it is free, or enters it again if the scope holds it. Returns `None` if another holder has
    /// it or a waiter is ahead in the queue.
    ///
    /// # Errors
    /// As for [`Reentrant::lock`]. An answer that never came is an error, never `None`.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let account = tenure.mutex("account:7").reentrant();
    /// let guard = tenure::blocking::reentrant::scope(|| account.try_lock())?;
    /// assert!(guard.is_some());
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn try_lock(&self) -> Result<Option<ReentrantGuard>, AcquireError> {
        let guard = self.context.wait(self.handle.try_lock().into_future())?;
        Ok(guard.map(|guard| self.guarded(guard)))
    }

    fn guarded(&self, guard: kinds::ReentrantGuard) -> ReentrantGuard {
        ReentrantGuard { guard, watch: GuardCallbacks::new(self.context.thread) }
    }
}

/// One of the guards with which a scope holds a [`Reentrant`] lock. Dropping the last one releases the lock in the
/// background.
#[must_use = "the lock is released as soon as its last guard is dropped"]
pub struct ReentrantGuard {
    pub(in crate::blocking) guard: kinds::ReentrantGuard,
    watch: GuardCallbacks,
}

impl ReentrantGuard {
    answers!();

    /// Returns how many guards share this hold, including this one.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let account = tenure.mutex("account:7").reentrant();
    /// let guard = tenure::blocking::reentrant::scope(|| account.lock())?;
    /// assert_eq!(guard.depth(), 1);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    pub fn depth(&self) -> usize {
        self.guard.depth()
    }

    /// Drops this guard. If it is the last of its hold, releases the lock and waits for the store's answer.
    ///
    /// # Errors
    /// As for [`Guard::release`](crate::blocking::Guard::release). A guard that is not the last also returns
    /// [`ReleaseError::Lost`] if the hold was lost.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let account = tenure.mutex("account:7").reentrant();
    /// let guard = tenure::blocking::reentrant::scope(|| account.lock())?;
    /// guard.release()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn release(self) -> Result<(), ReleaseError> {
        let Self { guard, watch } = self;
        let thread = watch.end();
        let (name, token) = (guard.name().clone(), guard.token());
        thread.wait_for(guard.release()).unwrap_or_else(|| Err(of_parent(name, token).into()))
    }
}
