//! Why a locked function did not do its work, or should not have.

use tenure_core::{AcquireError, AnyError, Lost};

/// Why a [`#[locked]`](crate::locked) function failed because of its lock.
///
/// The function's error needs a `From` of it:
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
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockedError {
    /// The lock was not acquired, and nothing of the function was run.
    #[error(transparent)]
    Acquire(#[from] AcquireError),
    /// The lock was lost before the function was done. An `async fn` was dropped where it stood; a
    /// `fn` ran to its end.
    #[error(transparent)]
    Lost(#[from] Lost),
}

impl From<LockedError> for AnyError {
    fn from(error: LockedError) -> Self {
        match error {
            LockedError::Acquire(error) => error.into(),
            LockedError::Lost(lost) => lost.into(),
        }
    }
}
