//! The guard of a writer, which can become the guard of a reader.

use std::{ops::Deref, time::Duration};

use crate::{
    Error,
    acquisition::guard::Guard,
    acquisition::lease::DowngradeOutcome,
    error::{Lost, ReleaseError, StoreFailure},
};

/// One exclusive hold of an [`RwLock`](super::RwLock): a [`Guard`] that can become a shared one.
#[derive(Debug)]
#[must_use = "the lock is released as soon as its guard is dropped"]
pub struct WriteGuard(Guard);

impl WriteGuard {
    /// Turns this hold into a shared one, with the same token and lease, and lets other readers in.
    ///
    /// No writer comes in between, so this guard still reads what it wrote. The readers at the head of the queue are
    /// notified at once. From then on, the writers of this process queue in the store.
    ///
    /// # Errors
    /// [`DowngradeError`] says what the caller still holds. The error contains that hold, which is renewed until you
    /// drop the error. The store is asked again for up to two seconds.
    ///
    /// # Cancel safety
    /// The future owns the guard. Dropping the future releases the lock in the background.
    pub async fn downgrade(self) -> Result<Guard, DowngradeError> {
        let Self(guard) = self;
        let failed = |fault| Box::new(StoreFailure { lock: guard.address(), fault });
        match guard.downgrade().await {
            DowngradeOutcome::Shared => Ok(guard),
            DowngradeOutcome::Lost(lost) => Err(DowngradeError::Lost(lost)),
            DowngradeOutcome::Refused(fault) => {
                let failure = failed(fault);
                Err(DowngradeError::StillWriting { guard: Self(guard), failure })
            }
            DowngradeOutcome::InDoubt(fault) => {
                let failure = failed(fault);
                Err(DowngradeError::InDoubt { guard, failure })
            }
        }
    }

    /// Releases the hold and waits for the store's answer: see [`Guard::release`].
    ///
    /// # Errors
    /// As for [`Guard::release`].
    ///
    /// # Cancel safety
    /// As for [`Guard::release`].
    pub async fn release(self) -> Result<(), ReleaseError> {
        self.0.release().await
    }

    /// Stops renewing without releasing: see [`Guard::leave_to_expire`].
    #[must_use = "it says for how long the lock may still be counted on"]
    pub fn leave_to_expire(self) -> Duration {
        self.0.leave_to_expire()
    }
}

impl Deref for WriteGuard {
    type Target = Guard;

    fn deref(&self) -> &Guard {
        &self.0
    }
}

impl From<Guard> for WriteGuard {
    /// Turns the guard of a writer's acquisition into a `WriteGuard`. For a guard of another kind this has no effect in
    /// the store: a store lets no reader become a writer.
    fn from(guard: Guard) -> Self {
        Self(guard)
    }
}

impl From<WriteGuard> for Guard {
    fn from(guard: WriteGuard) -> Self {
        guard.0
    }
}

/// Why a writer did not become a reader, and what it holds now. Dropping the error releases that hold.
///
/// The caller holds nothing, still writes, or reads.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DowngradeError<W = WriteGuard, R = Guard> {
    /// The hold ended: another writer may have written since.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// Nothing changed: the caller is still the only writer. You can try the downgrade again.
    #[error("{failure:#}")]
    StillWriting {
        /// The exclusive hold.
        guard: W,
        /// Why the downgrade failed.
        failure: Box<StoreFailure>,
    },
    /// The store did not answer, so other readers may have entered. Count on a shared hold only.
    #[error("{failure:#}")]
    InDoubt {
        /// The certain part: no writer holds the lock, and this hold continues.
        guard: R,
        /// Why it is uncertain.
        failure: Box<StoreFailure>,
    },
}

impl<W, R> DowngradeError<W, R> {
    /// Returns the same error with guards of other types, each made from the old guard and `along`.
    pub fn with_guards<A, X, Y>(
        self,
        along: A,
        writing: impl FnOnce(W, A) -> X,
        reading: impl FnOnce(R, A) -> Y,
    ) -> DowngradeError<X, Y> {
        match self {
            Self::Lost(lost) => DowngradeError::Lost(lost),
            Self::StillWriting { guard, failure } => {
                DowngradeError::StillWriting { guard: writing(guard, along), failure }
            }
            Self::InDoubt { guard, failure } => {
                DowngradeError::InDoubt { guard: reading(guard, along), failure }
            }
        }
    }
}

impl<W, R> From<DowngradeError<W, R>> for Error {
    /// Releases the hold that the error contains.
    fn from(error: DowngradeError<W, R>) -> Self {
        match error {
            DowngradeError::Lost(lost) => Self::Lost(lost),
            DowngradeError::StillWriting { failure, .. }
            | DowngradeError::InDoubt { failure, .. } => Self::Downgrade(failure),
        }
    }
}
