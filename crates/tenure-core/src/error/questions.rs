//! What a program asks of an error, to decide what to do next without telling all of them apart.
//!
//! | what was asked for | `is_busy` | `is_lost` | `is_transient` | HTTP status that fits |
//! |---|---|---|---|---|
//! | somebody else has the lock | yes | | yes | 423 Locked, or 409 Conflict |
//! | the hold was lost before the work was done | | yes | yes | 503 Service Unavailable |
//! | the store is away, or did not say | | | yes | 503 Service Unavailable |
//! | something must be changed first | | | no | 500 Internal Server Error |
//!
//! The text of an error names the store and, where it is known, the holder: it belongs into a log, not
//! into an answer to somebody outside.

use super::{
    AcquireError, DetachError, Error, HandleError, InspectError, LatchError, ReleaseError,
    StoreError, StoreFailure,
};
use crate::Fault;

impl AcquireError {
    /// Whether somebody else has the lock, or so many wait for it that no more may.
    #[must_use]
    pub const fn is_busy(&self) -> bool {
        matches!(self, Self::TimedOut(_) | Self::Full(_))
    }

    /// Whether the same may work later, without anybody changing anything.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        let away = matches!(self, Self::InDoubt(_) | Self::Unreachable(_));
        self.is_busy() || away || matches!(self, Self::TooManyHolds { .. })
    }

    /// The store's fault, where one was the reason.
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

/// Whether trying again may help where a store had this failure.
const fn passes(failure: &StoreFailure) -> bool {
    failure.fault.is_transient()
}

impl InspectError {
    /// Whether the same may work later, without anybody changing anything.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Store(failure) if passes(failure))
    }

    /// The store's fault, where one was the reason.
    #[must_use]
    pub const fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Store(failure) => Some(&failure.fault),
            Self::Name(_) => None,
        }
    }
}

impl StoreError {
    /// Whether the same may work later, without anybody changing anything.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        self.fault.is_transient()
    }
}

impl HandleError {
    /// Whether nothing is held by the handle any more.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        matches!(self, Self::Lost(_))
    }

    /// Whether the same may work later, without anybody changing anything.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Store(failure) | Self::InDoubt(failure) => passes(failure),
            Self::NoRoom(error) => error.is_transient(),
            Self::Lost(_) | Self::Setting(_) => false,
        }
    }

    /// The store's fault, where one was the reason.
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
    /// The store's fault, where one was the reason.
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
    /// Whether somebody else has the lock, or not everybody arrived at a latch in time.
    #[must_use]
    pub const fn is_busy(&self) -> bool {
        match self {
            Self::Acquire(error) => error.is_busy(),
            Self::Latch(error) => matches!(error, LatchError::TimedOut { .. }),
            _ => false,
        }
    }

    /// Whether a hold was lost before it was let go.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        match self {
            Self::Lost(_)
            | Self::Release(ReleaseError::Lost(_))
            | Self::Detach(DetachError::Lost(_)) => true,
            Self::Handle(error) => error.is_lost(),
            _ => false,
        }
    }

    /// Whether the same may work later, without anybody changing anything. What was done under a hold
    /// that was lost may be in other hands by then.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Acquire(error) => error.is_transient(),
            Self::Inspect(error) | Self::Latch(LatchError::Inspect(error)) => error.is_transient(),
            Self::Latch(LatchError::TimedOut { .. }) => true,
            Self::Downgrade(failure)
            | Self::Detach(DetachError::Store(failure) | DetachError::InDoubt(failure))
            | Self::Release(ReleaseError::InDoubt(failure)) => passes(failure),
            Self::Handle(error) => error.is_transient() || error.is_lost(),
            Self::Store(error) => error.is_transient(),
            Self::Open(error) => error.is_transient(),
            _ => self.is_lost(),
        }
    }
}
