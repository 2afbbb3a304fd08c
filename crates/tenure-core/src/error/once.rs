//! Why the work of a slot was not begun, or not recorded as finished.

use super::{AcquireError, InspectError, Lost, StoreFailure};
use crate::{NameError, parts::ErrorParts};

/// Why the work of a slot was not begun, or not recorded as finished.
#[non_exhaustive]
pub enum OnceError {
    /// The lock was not acquired.
    Acquire(AcquireError),
    /// The record of the slots could not be read or written, or another schedule is in use for this name.
    Record(InspectError),
    /// The lock was lost before the slot was recorded: it is not marked as finished.
    Lost(Lost),
    /// The store did not answer until the hold ended: the slot may be marked as finished or not.
    InDoubt(Box<StoreFailure>),
}

impl OnceError {
    /// The hold ended while the store did not answer.
    pub(crate) fn in_doubt(lost: Lost, error: InspectError) -> Self {
        match error {
            InspectError::Store(failure) => Self::InDoubt(failure),
            InspectError::Name(_) => Self::Lost(lost),
        }
    }

    pub(crate) fn parts(&self) -> ErrorParts<'_> {
        match self {
            Self::Acquire(error) => error.parts(),
            Self::Record(error) => error.parts(),
            Self::Lost(lost) => lost.parts(),
            Self::InDoubt(failure) => failure.parts(),
        }
    }

    /// Returns whether another holder has the lock.
    #[must_use]
    pub const fn is_busy(&self) -> bool {
        matches!(self, Self::Acquire(error) if error.is_busy())
    }

    /// Returns whether the lock was lost before the slot was recorded.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        matches!(self, Self::Lost(_))
    }

    /// Returns whether the same call may succeed later, with nothing changed.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Acquire(error) => error.is_transient(),
            Self::Record(error) => error.is_transient(),
            Self::Lost(_) | Self::InDoubt(_) => true,
        }
    }
}

impl From<AcquireError> for OnceError {
    fn from(error: AcquireError) -> Self {
        Self::Acquire(error)
    }
}

impl From<InspectError> for OnceError {
    fn from(error: InspectError) -> Self {
        Self::Record(error)
    }
}

impl From<Lost> for OnceError {
    fn from(lost: Lost) -> Self {
        Self::Lost(lost)
    }
}

impl From<NameError> for OnceError {
    fn from(error: NameError) -> Self {
        Self::Acquire(error.into())
    }
}
