//! Why a hold was not detached, or a call with a handle failed.

use tenure_proto::{OutOfRange, Token};

use super::{AcquireError, LockAddress, Lost, StoreFailure};
use crate::parts::ErrorParts;
use crate::{Fault, FaultKind};

/// The beginning of a handle's text, and its version.
pub(crate) const MARK: &str = "tenure-handle";
pub(crate) const VERSION: &str = "1";

/// Why a text is not a handle. The error does not show the text, which may be a valid handle except for one letter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadHandle {
    /// The text is empty.
    #[error("the handle is empty; give its whole text")]
    Empty,
    /// The text is something else.
    #[error("this is not a handle: a handle begins with \"{MARK}:\"")]
    NoHandle,
    /// A version of tenure that this one does not know wrote the handle.
    #[error(
        "this handle is of version {version:?}, and this tenure supports only {VERSION}; \
         use it where it was made, or with a newer tenure"
    )]
    Version {
        /// The handle's version.
        version: String,
    },
    /// The text was changed on its way.
    #[error("this handle was cut or changed on its way; give its whole text")]
    Damaged,
}

/// Why a guard was not detached. The guard is gone, and its hold is being released.
#[non_exhaustive]
pub enum DetachError {
    /// The hold had already been lost.
    Lost(Lost),
    /// The requested lease is out of range.
    Setting(OutOfRange),
    /// The store failed, so no handle works. The lock is released in the background.
    Store(Box<StoreFailure>),
    /// The store did not answer, so the hold may be detached. It is taken back in the background, so a handle soon
    /// stops working.
    InDoubt(Box<StoreFailure>),
    /// This process has no room for the call, or was shut down. The lock is released in the background.
    NoRoom(Box<AcquireError>),
}

/// Why a call with a handle failed.
#[non_exhaustive]
pub enum HandleError {
    /// The handle no longer holds anything.
    Lost(LockAddress),
    /// A setting is out of range.
    Setting(OutOfRange),
    /// The store failed. The hold stays as it was, for as long as its lease lasts.
    Store(Box<StoreFailure>),
    /// The store did not answer, so the call may or may not have taken effect. A hold that was attached is taken back,
    /// and then the handle is worthless. You can try a renewal or a release again.
    InDoubt(Box<StoreFailure>),
    /// This process has no room for the hold, or was shut down. The handle is unchanged.
    NoRoom(Box<AcquireError>),
}

impl DetachError {
    pub(crate) fn store(lock: LockAddress, fault: Fault) -> Self {
        let in_doubt = fault.kind() == FaultKind::InDoubt;
        let failure = Box::new(StoreFailure { lock, fault });
        if in_doubt { Self::InDoubt(failure) } else { Self::Store(failure) }
    }

    pub(crate) fn parts(&self) -> ErrorParts<'_> {
        match self {
            Self::Lost(lost) => lost.parts(),
            Self::Setting(error) => ErrorParts::new(error.message()).help(error.help()),
            Self::Store(failure) | Self::InDoubt(failure) => failure.parts(),
            Self::NoRoom(error) => error.parts(),
        }
    }

    pub(crate) fn lost(lock: LockAddress, token: Token) -> Self {
        Self::Lost(Lost::new(lock, token, tenure_proto::LostReason::Taken))
    }
}

impl HandleError {
    pub(crate) fn store(lock: LockAddress, fault: Fault) -> Self {
        let in_doubt = fault.kind() == FaultKind::InDoubt;
        let failure = Box::new(StoreFailure { lock, fault });
        if in_doubt { Self::InDoubt(failure) } else { Self::Store(failure) }
    }

    pub(crate) fn parts(&self) -> ErrorParts<'_> {
        match self {
            Self::Lost(lock) => {
                ErrorParts::for_lock(lock, "nothing is held by this handle any more").help(
                    "stop the work that it protects: the lease ended, or the lock was attached, \
                     released or broken by another process, or it was locked in another store",
                )
            }
            Self::Setting(error) => ErrorParts::new(error.message()).help(error.help()),
            Self::Store(failure) | Self::InDoubt(failure) => failure.parts(),
            Self::NoRoom(error) => error.parts(),
        }
    }
}

impl From<Lost> for DetachError {
    fn from(lost: Lost) -> Self {
        Self::Lost(lost)
    }
}

impl From<OutOfRange> for DetachError {
    fn from(error: OutOfRange) -> Self {
        Self::Setting(error)
    }
}

impl From<OutOfRange> for HandleError {
    fn from(error: OutOfRange) -> Self {
        Self::Setting(error)
    }
}
