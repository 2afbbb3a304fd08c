//! Questions that a program asks of an error to decide what to do next, without matching every variant.
//!
//! | what happened | `is_busy` | `is_lost` | `is_transient` | HTTP status that fits |
//! |---|---|---|---|---|
//! | another holder has the lock | yes | | yes | 423 Locked, or 409 Conflict |
//! | the hold was lost before the work was done | | yes | yes | 503 Service Unavailable |
//! | the store is unreachable, or did not answer | | | yes | 503 Service Unavailable |
//! | something must be changed first | | | no | 500 Internal Server Error |
//!
//! An error's text names the store and, if known, the holder. Log it; do not return it to clients.

use super::{
    AcquireError, DetachError, Error, HandleError, InspectError, LatchError, ReleaseError,
    StoreError, StoreFailure,
};
use crate::Fault;

impl AcquireError {
    /// Returns whether another holder has the lock, or its queue is full.
    #[must_use]
    pub const fn is_busy(&self) -> bool {
        matches!(self, Self::TimedOut(_) | Self::Full(_))
    }

    /// Returns whether the same call may succeed later with nothing changed.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        let away = matches!(self, Self::InDoubt(_) | Self::Unreachable(_));
        self.is_busy() || away || matches!(self, Self::TooManyHolds { .. })
    }

    /// Returns the store's fault, if one was the reason.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::InDoubt(failure)
            | Self::Unreachable(failure)
            | Self::Misconfigured(failure)
            | Self::Full(failure)
            | Self::Corrupt(failure) => Some(&failure.fault),
            _ => None,
        }
    }
}

/// Whether trying again may help after this failure of a store.
const fn is_transient_failure(failure: &StoreFailure) -> bool {
    failure.fault.is_transient()
}

impl InspectError {
    /// Returns whether the same call may succeed later with nothing changed.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Store(failure) if is_transient_failure(failure))
    }

    /// Returns the store's fault, if one was the reason.
    #[must_use]
    pub const fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Store(failure) => Some(&failure.fault),
            Self::Name(_) => None,
        }
    }
}

impl StoreError {
    /// Returns whether the same call may succeed later with nothing changed.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        self.fault.is_transient()
    }
}

impl HandleError {
    /// Returns whether the handle no longer holds anything.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        matches!(self, Self::Lost(_))
    }

    /// Returns whether the same call may succeed later with nothing changed.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Store(failure) | Self::InDoubt(failure) => is_transient_failure(failure),
            Self::NoRoom(error) => error.is_transient(),
            Self::Lost(_) | Self::Setting(_) => false,
        }
    }

    /// Returns the store's fault, if one was the reason.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Store(failure) | Self::InDoubt(failure) => Some(&failure.fault),
            Self::NoRoom(error) => error.fault(),
            Self::Lost(_) | Self::Setting(_) => None,
        }
    }
}

impl DetachError {
    /// Returns the store's fault, if one was the reason.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Store(failure) | Self::InDoubt(failure) => Some(&failure.fault),
            Self::NoRoom(error) => error.fault(),
            Self::Lost(lost) => lost.fault(),
            Self::Setting(_) => None,
        }
    }
}

impl Error {
    /// Returns whether another holder has the lock, its queue is full, or some arrivals at a latch were missing in
    /// time.
    #[must_use]
    pub const fn is_busy(&self) -> bool {
        match self {
            Self::Acquire(error) => error.is_busy(),
            Self::Latch(error) => matches!(error, LatchError::TimedOut { .. }),
            Self::Once(error) => error.is_busy(),
            _ => false,
        }
    }

    /// Returns whether a hold was lost before it was released.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        match self {
            Self::Lost(_)
            | Self::Release(ReleaseError::Lost(_))
            | Self::Detach(DetachError::Lost(_)) => true,
            Self::Handle(error) => error.is_lost(),
            Self::Once(error) => error.is_lost(),
            _ => false,
        }
    }

    /// Returns whether the same call may succeed later with nothing changed. After a lost hold, another holder may have
    /// changed what the work was done on.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Acquire(error) => error.is_transient(),
            Self::Inspect(error) | Self::Latch(LatchError::Inspect(error)) => error.is_transient(),
            Self::Latch(LatchError::TimedOut { .. }) => true,
            Self::Once(error) => error.is_transient(),
            Self::Downgrade(failure)
            | Self::Detach(DetachError::Store(failure) | DetachError::InDoubt(failure))
            | Self::Release(ReleaseError::InDoubt(failure)) => is_transient_failure(failure),
            Self::Handle(error) => error.is_transient() || error.is_lost(),
            Self::Store(error) => error.is_transient(),
            Self::Open(error) => error.is_transient(),
            _ => self.is_lost(),
        }
    }
}
