//! The reentrant mutex: a scope that holds it enters again without asking the store.

use std::{future::IntoFuture, time::Duration};

use tenure_core::{
    AcquireError, LockName, Lost, LostReason, ReleaseError, Scope, Timestamp, Token, error::Place,
    kinds,
};

use super::{settings::setters, thread::Thread, waiting::Home};

/// Calls `work` in a [`Scope`] of its own, on this thread, so that reentrant locks know it:
/// [`crate::scope`] for blocking callers.
///
/// Another thread that `work` starts has no scope, unless one is carried over with
/// [`Scope::current`] and [`Scope::run_blocking`].
pub fn scope<O>(work: impl FnOnce() -> O) -> O {
    Scope::new().run_blocking(work)
}

/// A mutex that a [`Scope`] which holds it enters again: [`crate::kinds::Reentrant`] for blocking
/// callers.
///
/// ```
/// use tenure::blocking::{Tenure, scope};
///
/// let ledger = Tenure::open("memory:")?.mutex("ledger").reentrant();
/// scope(|| {
///     let outer = ledger.lock()?;
///     let inner = ledger.lock()?; // entered: no store is asked
///     assert_eq!(inner.token(), outer.token());
///     inner.release()?;
///     outer.release()?;
///     Ok::<_, tenure::AnyError>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a handle does nothing until it is locked"]
pub struct Reentrant {
    home: Home,
    handle: kinds::Reentrant,
}

impl Reentrant {
    pub(super) fn new(home: Home, handle: kinds::Reentrant) -> Self {
        Self { home, handle }
    }

    setters!();

    /// The same lock, for `scope` instead of the one that the caller runs in.
    pub fn within(&self, scope: &Scope) -> Self {
        Self { home: self.home.clone(), handle: self.handle.within(scope) }
    }

    /// Acquires the lock, and blocks until it has it; enters it again if the scope holds it.
    ///
    /// # Errors
    /// [`AcquireError::NoScope`] where there is no scope, else as for
    /// [`Mutex::lock`](super::Mutex::lock).
    pub fn lock(&self) -> Result<ReentrantGuard, AcquireError> {
        let guard = self.home.wait(self.handle.lock().into_future())?;
        Ok(self.guarded(guard))
    }

    /// Acquires the lock if it is free, or enters it again; `None` if somebody else has it or comes
    /// first.
    ///
    /// # Errors
    /// As for [`Reentrant::lock`]. An answer that never came is an error, never `None`.
    pub fn try_lock(&self) -> Result<Option<ReentrantGuard>, AcquireError> {
        let guard = self.home.wait(self.handle.try_lock().into_future())?;
        Ok(guard.map(|guard| self.guarded(guard)))
    }

    fn guarded(&self, guard: kinds::ReentrantGuard) -> ReentrantGuard {
        ReentrantGuard { guard, thread: self.home.thread }
    }
}

/// One of the guards by which a scope holds a [`Reentrant`] lock. Dropping the last of them releases
/// the lock in the background.
#[derive(Debug)]
#[must_use = "the lock is released as soon as its last guard is dropped"]
pub struct ReentrantGuard {
    guard: kinds::ReentrantGuard,
    thread: &'static Thread,
}

impl ReentrantGuard {
    /// The lock's name.
    #[must_use]
    pub fn name(&self) -> &LockName {
        self.guard.name()
    }

    /// The fencing token, the same for all guards of one hold (promise S2).
    #[must_use]
    pub fn token(&self) -> Token {
        self.guard.token()
    }

    /// Until when this hold may be counted on, on the clock of its `Tenure`. Renewals move it.
    #[must_use]
    pub fn deadline(&self) -> Timestamp {
        self.guard.deadline()
    }

    /// How long this hold may still be counted on if it is not renewed.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.guard.remaining()
    }

    /// How many guards share this hold, this one included.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.guard.depth()
    }

    /// The token, if the hold may be counted on at this very moment (promise S3).
    ///
    /// # Errors
    /// [`Lost`] from the deadline on, and as soon as the store said that the lease is gone. Never
    /// `Ok` again after that.
    pub fn check(&self) -> Result<Token, Lost> {
        self.guard.check()
    }

    /// Blocks until the hold is lost, or for `at_most`; `None` if it still lasts then.
    #[must_use = "it says whether the hold was lost"]
    pub fn wait_lost(&self, at_most: Duration) -> Option<Lost> {
        self.thread.wait_at_most(at_most, self.guard.lost()).or_else(|| self.check().err())
    }

    /// Gives up this guard. If it is the last of its hold, releases the lock and returns when the
    /// store has said so.
    ///
    /// # Errors
    /// As for [`Guard::release`](super::Guard::release). A guard that is not the last says
    /// [`ReleaseError::Lost`] too when the hold was lost.
    pub fn release(self) -> Result<(), ReleaseError> {
        let Self { guard, thread } = self;
        let (name, token) = (guard.name().clone(), guard.token());
        thread.wait_for(guard.release()).unwrap_or_else(|| {
            // A forked child never held it.
            let place = Place { name, store: "the parent process".to_owned() };
            Err(Lost { place, token, reason: LostReason::Taken }.into())
        })
    }
}
