//! The hold of the locked function in which the caller runs.

use std::{
    fmt,
    ops::Deref,
    sync::{Arc, Weak},
};

use tenure_core::{
    Guard, LockName, Lost, LostReason, OnceError, SlotRun, Token, error::LockAddress,
    kinds::ReentrantGuard,
};

use crate::Tenure;

tokio::task_local! {
    static CURRENT: Current;
}

/// Returns the hold of the innermost [`#[locked]`](macro@crate::locked) function in which the caller runs.
///
/// Returns `None` outside such a function, and in a task that it spawned. The function itself can take the hold as a
/// parameter: `#[hold] hold: &tenure::locked::Current`.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let store = tenure::Tenure::open("memory:").await?;
/// #[tenure::locked(key = "order:{order}", store = store)]
/// async fn pay(store: &tenure::Tenure, order: u64) -> Result<(), tenure::Error> {
///     write_off(order)
/// }
///
/// fn write_off(order: u64) -> Result<(), tenure::Error> {
///     if let Some(hold) = tenure::locked::current() {
///         println!("writing off {order} under token {}", hold.check()?);
///     }
///     Ok(())
/// }
/// pay(&store, 42).await?;
/// assert!(tenure::locked::current().is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[must_use]
pub fn current() -> Option<Current> {
    CURRENT.try_with(Current::clone).ok()
}

/// Returns the hold of the function into which `#[locked]` writes this call. It is always inside one.
#[must_use]
pub fn hold() -> Current {
    CURRENT.with(Current::clone)
}

/// The hold of a locked function, as the function itself sees it. A `Current` does not extend the hold.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use tenure::{Error, Tenure, locked, locked::Current};
///
/// #[locked(key = "order:{order}", store = store)]
/// async fn pay(store: &Tenure, order: u64, #[hold] hold: &Current) -> Result<(), Error> {
///     assert_eq!(hold.name().as_str(), "order:42");
///     // Again, before an effect that cannot be undone: fails if the lock is lost.
///     let token = hold.check()?;
///     assert_eq!(token, hold.token());
///     Ok(())
/// }
///
/// let store = Tenure::open("memory:").await?;
/// pay(&store, 42).await?;
/// # Ok::<(), tenure::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct Current {
    hold: Weak<AnyGuard>,
    tenure: Tenure,
    name: LockName,
    token: Token,
}

impl Current {
    pub(super) fn new(hold: &Arc<AnyGuard>, tenure: Tenure) -> Self {
        let (name, token) = (hold.name().clone(), hold.token());
        Self { hold: Arc::downgrade(hold), tenure, name, token }
    }

    /// Returns the lock's name.
    #[must_use]
    pub fn name(&self) -> &LockName {
        &self.name
    }

    /// Returns the fencing token of the hold. Pass it to the resource that the lock protects.
    #[must_use]
    pub fn token(&self) -> Token {
        self.token
    }

    /// Returns the token if you may count on the hold at this moment (promise
    /// [S3](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s3-a-holder-is-never-the-last-to-know)).
    ///
    /// # Errors
    /// [`Lost`] if you may not, and once the function has ended.
    pub fn check(&self) -> Result<Token, Lost> {
        match self.hold.upgrade() {
            Some(hold) => hold.check(),
            None => {
                let lock = LockAddress::new(self.name.clone(), self.tenure.store().location());
                Err(Lost::new(lock, self.token, LostReason::Taken))
            }
        }
    }

    /// Runs `work` as the body of a locked function.
    pub(super) fn inside<W: Future>(self, work: W) -> impl Future<Output = W::Output> {
        CURRENT.scope(self, work)
    }

    /// As [`Current::inside`], on this thread.
    pub(super) fn inside_blocking<O>(self, work: impl FnOnce() -> O) -> O {
        CURRENT.sync_scope(self, work)
    }
}

impl fmt::Debug for Current {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, token, .. } = self;
        f.debug_struct("Current").field("name", name).field("token", token).finish_non_exhaustive()
    }
}

/// A guard of any kind of lock.
#[derive(Debug)]
pub(super) enum AnyGuard {
    Plain(Guard),
    Reentrant(ReentrantGuard),
    Slot(Box<SlotRun>),
}

impl AnyGuard {
    /// Releases the lock and waits for the store's answer.
    pub(super) async fn release(self) {
        // The work was done under the lock. If this fails, the release continues in the background.
        let _ = match self {
            Self::Plain(guard) => guard.release().await,
            Self::Reentrant(guard) => guard.release().await,
            Self::Slot(run) => run.into_guard().release().await,
        };
    }

    /// Marks its slot as finished, if it is for one.
    pub(super) async fn finish(&mut self) -> Result<(), OnceError> {
        match self {
            Self::Slot(run) => run.mark().await,
            Self::Plain(_) | Self::Reentrant(_) => Ok(()),
        }
    }
}

impl Deref for AnyGuard {
    type Target = Guard;

    fn deref(&self) -> &Guard {
        match self {
            Self::Plain(guard) => guard,
            Self::Reentrant(guard) => guard,
            Self::Slot(run) => run,
        }
    }
}
