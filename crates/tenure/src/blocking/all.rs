//! Several locks, held together.

use std::{future::IntoFuture, ops::Deref};

use tenure_core::{AcquireError, AllGuard as Parts, AllReleaseError};

use super::{settings::setters, thread::Thread, waiting::Home};

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
#[derive(Clone, Debug)]
#[must_use = "a handle does nothing until it is locked"]
pub struct All {
    home: Home,
    handle: crate::All,
}

impl All {
    pub(super) fn new(home: Home, handle: crate::All) -> Self {
        Self { home, handle }
    }

    setters!();

    /// Acquires all of them, and blocks until it has them.
    ///
    /// # Errors
    /// As for [`Mutex::lock`](super::Mutex::lock); the error names the lock that stood in the way.
    pub fn lock(&self) -> Result<AllGuard, AcquireError> {
        let parts = self.home.wait(self.handle.lock().into_future())?;
        Ok(AllGuard { parts, thread: self.home.thread })
    }

    /// Acquires all of them if all are free.
    ///
    /// # Errors
    /// As for [`Mutex::try_lock`](super::Mutex::try_lock).
    pub fn try_lock(&self) -> Result<Option<AllGuard>, AcquireError> {
        let parts = self.home.wait(self.handle.try_lock().into_future())?;
        Ok(parts.map(|parts| AllGuard { parts, thread: self.home.thread }))
    }
}

/// Several locks, held together: all that [`crate::AllGuard`] says, and a release that blocks.
#[derive(Debug)]
#[must_use = "the locks are released as soon as their guard is dropped"]
pub struct AllGuard {
    parts: Parts,
    thread: &'static Thread,
}

impl AllGuard {
    /// Releases all of them and returns when every store has answered.
    ///
    /// # Errors
    /// As for [`crate::AllGuard::release`].
    pub fn release(self) -> Result<(), AllReleaseError> {
        // What a forked child has a copy of is its parent's to release.
        self.thread.wait_for(self.parts.release()).unwrap_or(Ok(()))
    }
}

impl Deref for AllGuard {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.parts
    }
}
