//! The reentrant mutex: a scope that holds it enters again without asking the store.

mod attempt;
mod guard;
mod scope;

use std::fmt;

pub use attempt::{ReentrantLock, ReentrantTryLock};
pub use guard::ReentrantGuard;
pub use scope::{Scope, scope};

use self::attempt::Attempt;
use super::{inspect::inspect, target::LockTarget};
use crate::options::{Options, setters};

/// A mutex that a [`Scope`] which holds it enters again. A handle: cheap to make, to clone and to
/// drop.
///
/// Entering again asks no store and keeps the token; the lock is let go when the last guard of the
/// scope is gone, in whatever order they go. The settings are those of the first acquisition: what
/// an inner one asks for neither shortens nor prolongs the hold. A hold that was lost is not
/// entered: the next `lock()` acquires afresh, with a token of its own, and the old guards stay
/// lost.
///
/// # Who is kept out
/// Everybody outside the scope, also other scopes and tasks of this process. That includes plain
/// guards of the same name: `tenure.mutex(name).lock()` inside a scope that holds `name` waits for
/// itself. A scope knows a lock by its [`Tenure`](crate::Tenure): another one opened on the same
/// store is another contender.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::Arc;
/// use tenure_core::{Error, MemoryStore, Tenure, kinds::Reentrant, scope};
///
/// async fn transfer(ledger: &Reentrant) -> Result<(), Error> {
///     let guard = ledger.lock().await?;
///     book(ledger).await?;
///     Ok(guard.release().await?)
/// }
///
/// async fn book(ledger: &Reentrant) -> Result<(), Error> {
///     let guard = ledger.lock().await?; // entered again when transfer() called
///     println!("booking with token {}", guard.token());
///     Ok(())
/// }
///
/// let ledger = Tenure::new(Arc::new(MemoryStore::new())).mutex("ledger").reentrant();
/// scope(async { transfer(&ledger).await?; book(&ledger).await }).await?;
/// # Ok::<(), Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
#[must_use = "a handle does nothing until it is locked"]
pub struct Reentrant {
    attempt: Attempt,
}

impl Reentrant {
    pub(super) fn new(target: LockTarget, options: Options) -> Self {
        Self { attempt: Attempt::new(target, options) }
    }

    setters!(attempt.options());

    inspect!(attempt.target());

    /// The same lock, for `scope` instead of the one that the caller runs in.
    pub fn within(&self, scope: &Scope) -> Self {
        Self { attempt: self.attempt.within(scope) }
    }

    /// Acquires the lock, waiting for it, or enters it again if the scope holds it: await the
    /// returned value.
    ///
    /// When several futures of one scope ask for it at a time, one of them asks the store, and the
    /// others enter as soon as it has the lock; if it gives up, the next one asks.
    ///
    /// # Cancel safety
    /// As for [`Mutex::lock`](crate::Mutex::lock).
    ///
    /// # Errors
    /// [`AcquireError::NoScope`](crate::AcquireError::NoScope) where there is no scope, else as for
    /// [`Mutex::lock`](crate::Mutex::lock).
    pub fn lock(&self) -> ReentrantLock {
        ReentrantLock::new(self.attempt.clone())
    }

    /// Acquires the lock if it is free, or enters it again if the scope holds it: await the
    /// returned value, which is `None` if somebody else has the lock or comes first. That may be
    /// another future of the scope, which is just acquiring it.
    ///
    /// # Cancel safety
    /// As for [`Mutex::lock`](crate::Mutex::lock).
    ///
    /// # Errors
    /// [`AcquireError::NoScope`](crate::AcquireError::NoScope) where there is no scope, else as for
    /// [`Mutex::try_lock`](crate::Mutex::try_lock).
    pub fn try_lock(&self) -> ReentrantTryLock {
        ReentrantTryLock::new(self.attempt.clone())
    }
}

impl fmt::Debug for Reentrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reentrant").field(&self.attempt).finish()
    }
}
