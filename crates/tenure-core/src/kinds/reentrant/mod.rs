//! The reentrant mutex: a scope that holds it can enter it again without asking the store.

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

/// A mutex that a [`Scope`] can enter again while it holds it. This is a handle: making, cloning and dropping it is
/// cheap.
///
/// Entering again makes no call to the store and keeps the token. The lock is released when the last guard of the scope
/// is dropped, in any order. The settings are those of the first acquisition: an inner one neither shortens nor extends
/// the hold. A lost hold cannot be entered. The next `lock()` acquires the lock again, with a new token, and the old
/// guards stay lost.
///
/// # Who is kept out
/// All contenders outside the scope, including other scopes and tasks of this process. That includes plain guards of
/// the same name: `tenure.mutex(name).lock()` inside a scope that holds `name` waits for itself. A scope identifies a
/// lock by its [`Tenure`](crate::Tenure): another `Tenure` opened on the same store is another contender.
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

    /// Returns the same lock for `scope`, instead of the scope that the caller runs in.
    pub fn within(&self, scope: &Scope) -> Self {
        Self { attempt: self.attempt.within(scope) }
    }

    /// Acquires the lock, waiting until it is free, or enters it again if the scope holds it. Await the returned value.
    ///
    /// If several futures of one scope ask for it at a time, one of them asks the store. The others enter as soon as it
    /// has the lock; if it gives up, the next one asks.
    ///
    /// # Errors
    /// [`AcquireError::NoScope`](crate::AcquireError::NoScope) if there is no scope; otherwise as for
    /// [`Mutex::lock`](crate::Mutex::lock).
    ///
    /// # Cancel safety
    /// As for [`Mutex::lock`](crate::Mutex::lock).
    pub fn lock(&self) -> ReentrantLock {
        ReentrantLock::new(self.attempt.clone())
    }

    /// Acquires the lock if it is free, or enters it again if the scope holds it. Await the returned value, which is
    /// `None` if the lock is held or another contender comes first. That contender may be another future of the scope,
    /// which is acquiring the lock at that moment.
    ///
    /// # Errors
    /// [`AcquireError::NoScope`](crate::AcquireError::NoScope) if there is no scope; otherwise as for
    /// [`Mutex::try_lock`](crate::Mutex::try_lock).
    ///
    /// # Cancel safety
    /// As for [`Mutex::lock`](crate::Mutex::lock).
    pub fn try_lock(&self) -> ReentrantTryLock {
        ReentrantTryLock::new(self.attempt.clone())
    }
}

impl fmt::Debug for Reentrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reentrant").field(&self.attempt).finish()
    }
}
