//! Why a hold did not leave its process, or a handle did not do what it is for.

use tenure_proto::{OutOfRange, Token};

use super::{AcquireError, Lost, Place, Trouble};
use crate::{Fault, FaultKind};

/// Why a guard did not become a handle. The guard is gone: what it held is being released.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum DetachError {
    /// The hold had been lost before.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The lease that was asked for is out of range.
    #[error(transparent)]
    Setting(#[from] OutOfRange),
    /// The store did not do it: no handle works. The lock is released in the background.
    #[error(transparent)]
    Store(Box<Trouble>),
    /// The store did not answer: the hold may be detached. It is taken back in the background, so no
    /// handle works for long.
    #[error(transparent)]
    InDoubt(Box<Trouble>),
    /// This process has no room to detach it, or was shut down. The lock is released in the background.
    #[error(transparent)]
    NoRoom(Box<AcquireError>),
}

/// Why a handle did not do what it is for.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum HandleError {
    /// Nothing is held by this handle any more.
    #[error(
        "{0}: nothing is held by this handle any more: its lease ended, or somebody attached, released or broke it, or this is not the store where it was made; whatever it protected may be in other hands"
    )]
    Lost(Place),
    /// A setting is out of range.
    #[error(transparent)]
    Setting(#[from] OutOfRange),
    /// The store did not do it: what was held by the handle still is, for as long as its lease lasts.
    #[error(transparent)]
    Store(Box<Trouble>),
    /// The store did not answer, so it may be done or not. What was attached is taken back, and then the
    /// handle is worth nothing; a renewal or a release can be tried again.
    #[error(transparent)]
    InDoubt(Box<Trouble>),
    /// This process has no room for the hold, or was shut down. The handle is as it was.
    #[error(transparent)]
    NoRoom(Box<AcquireError>),
}

impl DetachError {
    pub(crate) fn store(place: Place, fault: Fault) -> Self {
        let in_doubt = fault.kind() == FaultKind::InDoubt;
        let trouble = Box::new(Trouble { place, fault });
        if in_doubt { Self::InDoubt(trouble) } else { Self::Store(trouble) }
    }

    pub(crate) fn lost(place: Place, token: Token) -> Self {
        Self::Lost(Lost::new(place, token, tenure_proto::LostReason::Taken))
    }
}

impl HandleError {
    pub(crate) fn store(place: Place, fault: Fault) -> Self {
        let in_doubt = fault.kind() == FaultKind::InDoubt;
        let trouble = Box::new(Trouble { place, fault });
        if in_doubt { Self::InDoubt(trouble) } else { Self::Store(trouble) }
    }
}
