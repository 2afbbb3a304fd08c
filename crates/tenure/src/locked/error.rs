//! Why a locked function did not run, or did not end under its lock.

use std::{borrow::Cow, fmt};

use tenure_core::{AcquireError, Error, Lost, OnceError, error::LockAddress};

/// Why a [`#[locked]`](macro@crate::locked) function failed because of its lock.
///
/// The function's error type needs a `From` implementation for it:
///
/// ```
/// #[derive(Debug, thiserror::Error)]
/// enum PayError {
///     #[error("the bank refuses")]
///     Refused,
///     #[error(transparent)]
///     Locked(#[from] tenure::LockedError),
/// }
/// ```
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum LockedError {
    /// The lock was not acquired, and the function did not run.
    #[error(transparent)]
    Acquire(#[from] AcquireError),
    /// The lock was lost before the function ended. An `async fn` was dropped at its current await; a `fn` ran to its
    /// end.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// With `once_per`: the record of the slots could not be read or written. The function may have run.
    #[error(transparent)]
    Once(OnceError),
}

impl From<OnceError> for LockedError {
    fn from(error: OnceError) -> Self {
        match error {
            OnceError::Acquire(error) => Self::Acquire(error),
            OnceError::Lost(lost) => Self::Lost(lost),
            error => Self::Once(error),
        }
    }
}

impl fmt::Debug for LockedError {
    /// Shows what a `main` prints that returns this error.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Acquire(error) => error.fmt(f),
            Self::Lost(lost) => lost.fmt(f),
            Self::Once(error) => error.fmt(f),
        }
    }
}

impl LockedError {
    /// Returns whether another holder has the lock, so the function did not run.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use tenure::{LockedError, Tenure, locked};
    ///
    /// #[locked(name = "nightly", wait = "0s", store = store)]
    /// async fn report(store: &Tenure) -> Result<(), LockedError> {
    ///     Ok(())
    /// }
    ///
    /// let store = Tenure::open("memory:").await?;
    /// let held = store.mutex("nightly").lock().await?;
    /// let error = report(&store).await.unwrap_err();
    /// assert!(error.is_busy() && !error.is_lost());
    /// assert_eq!(error.address().map(|address| address.name.as_str()), Some("nightly"));
    /// assert!(error.help().is_some());
    /// # held.release().await?;
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub const fn is_busy(&self) -> bool {
        matches!(self, Self::Acquire(error) if error.is_busy())
    }

    /// Returns whether the lock was lost before the function ended. Its work may be half done. See
    /// [`is_busy`](Self::is_busy) for an example.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        matches!(self, Self::Lost(_))
    }

    /// Returns whether the same call may succeed later, with nothing changed.
    ///
    /// ```
    /// use tenure::LockedError;
    ///
    /// /// Returns the HTTP status. The error names store and holder: log it; do not send it to clients.
    /// fn status(error: &LockedError) -> u16 {
    ///     match error {
    ///         error if error.is_busy() => 423,          // Locked
    ///         error if error.is_transient() => 503,     // Service Unavailable
    ///         _ => 500,
    ///     }
    /// }
    /// ```
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Acquire(error) => error.is_transient(),
            Self::Lost(_) => true,
            Self::Once(error) => error.is_transient(),
        }
    }

    /// Returns what you can do about the error, if anything. See [`is_busy`](Self::is_busy) for an example.
    #[must_use]
    pub fn help(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Acquire(error) => error.help(),
            Self::Lost(lost) => lost.help(),
            Self::Once(error) => error.help(),
        }
    }

    /// Returns the lock and its store, if the error concerns one lock. See [`is_busy`](Self::is_busy) for an example.
    #[must_use]
    pub fn address(&self) -> Option<&LockAddress> {
        match self {
            Self::Acquire(error) => error.address(),
            Self::Lost(lost) => lost.address(),
            Self::Once(error) => error.address(),
        }
    }
}

impl From<LockedError> for Error {
    fn from(error: LockedError) -> Self {
        match error {
            LockedError::Once(error) => error.into(),
            LockedError::Acquire(error) => error.into(),
            LockedError::Lost(lost) => lost.into(),
        }
    }
}
