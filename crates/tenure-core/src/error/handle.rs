//! Why a hold did not leave its process, or a handle did not do what it is for.

use tenure_proto::{OutOfRange, Token};

use super::{AcquireError, LockAddress, Lost, StoreFailure};
use crate::parts::ErrorParts;
use crate::{Fault, FaultKind};

/// What a handle begins with, as text, and its version.
pub(crate) const MARK: &str = "tenure-handle";
pub(crate) const VERSION: &str = "1";

/// Why a text is no handle. It does not show the text, which may be a good handle but for one letter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadHandle {
    /// There is nothing.
    #[error("the handle is empty; give its whole text")]
    Empty,
    /// It is something else.
    #[error("this is not a handle: a handle begins with \"{MARK}:\"")]
    NoHandle,
    /// A version of tenure wrote it that this one does not know.
    #[error(
        "this handle is of version {version:?}, and this tenure supports only {VERSION}; \
         use it where it was made, or with a newer tenure"
    )]
    Version {
        /// Its version.
        version: String,
    },
    /// It was changed on its way.
    #[error("this handle was cut or changed on its way; give its whole text")]
    Damaged,
}

/// Why a guard did not become a handle. The guard is gone: what it held is being released.
#[non_exhaustive]
pub enum DetachError {
    /// The hold had been lost before.
    Lost(Lost),
    /// The lease that was asked for is out of range.
    Setting(OutOfRange),
    /// The store did not do it: no handle works. The lock is released in the background.
    Store(Box<StoreFailure>),
    /// The store did not answer: the hold may be detached. It is taken back in the background, so no
    /// handle works for long.
    InDoubt(Box<StoreFailure>),
    /// This process has no room to detach it, or was shut down. The lock is released in the background.
    NoRoom(Box<AcquireError>),
}

/// Why a handle did not do what it is for.
#[non_exhaustive]
pub enum HandleError {
    /// Nothing is held by this handle any more.
    Lost(LockAddress),
    /// A setting is out of range.
    Setting(OutOfRange),
    /// The store did not do it: what was held by the handle still is, for as long as its lease lasts.
    Store(Box<StoreFailure>),
    /// The store did not answer, so it may be done or not. What was attached is taken back, and then the
    /// handle is worth nothing; a renewal or a release can be tried again.
    InDoubt(Box<StoreFailure>),
    /// This process has no room for the hold, or was shut down. The handle is as it was.
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
            Self::Lost(lock) => ErrorParts::at(lock, "nothing is held by this handle any more")
                .help(
                    "stop the work that it protects: the lease ended, or the lock was attached, \
                     released or broken by another process, or it was locked in another store",
                ),
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
