//! The guard of a writer, and how it becomes a reader's.

use std::{ops::Deref, time::Duration};

use crate::{
    Error,
    acquisition::guard::Guard,
    acquisition::lease::DowngradeOutcome,
    error::{Lost, ReleaseError, StoreFailure},
};

/// One exclusive hold of an [`RwLock`](super::RwLock): a [`Guard`] that can become a reader's.
#[derive(Debug)]
#[must_use = "the lock is released as soon as its guard is dropped"]
pub struct WriteGuard(Guard);

impl WriteGuard {
    /// Lets other readers in and goes on as one of them, with the same token and lease.
    ///
    /// No writer comes between: what this guard wrote is what it goes on reading. Readers at the
    /// head of the line are told at once. Writers of this process queue in the store from then on.
    ///
    /// # Errors
    /// [`DowngradeError`] says what the caller has then; what it has comes with the error, and
    /// goes on being renewed until that is dropped. The store is asked again for up to two
    /// seconds.
    ///
    /// # Cancel safety
    /// The guard belongs to the future: dropping it releases the lock in the background.
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

    /// Releases the lock: [`Guard::release`].
    ///
    /// # Errors
    /// As for [`Guard::release`].
    ///
    /// # Cancel safety
    /// As for [`Guard::release`].
    pub async fn release(self) -> Result<(), ReleaseError> {
        self.0.release().await
    }

    /// Stops renewing without releasing: [`Guard::leave_to_expire`].
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
    /// For the acquisition of a writer, which gives it a guard like any other. A guard of another
    /// kind gains nothing by it: a store lets no reader become a writer.
    fn from(guard: Guard) -> Self {
        Self(guard)
    }
}

impl From<WriteGuard> for Guard {
    fn from(guard: WriteGuard) -> Self {
        guard.0
    }
}

/// Why a writer did not become a reader, and what it has instead. Dropping the error releases it.
///
/// It has nothing, or writes, or reads.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DowngradeError<W = WriteGuard, R = Guard> {
    /// The hold is over: others may have written since.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// Nothing changed: the caller still writes alone. The downgrade can be tried again.
    #[error("{failure:#}")]
    StillWriting {
        /// The exclusive hold.
        guard: W,
        /// Why it was not done.
        failure: Box<StoreFailure>,
    },
    /// The store did not answer: other readers may have entered. Count on reading alone.
    #[error("{failure:#}")]
    InDoubt {
        /// What is certain: no writer has the lock, and this hold lasts.
        guard: R,
        /// Why it is uncertain.
        failure: Box<StoreFailure>,
    },
}

impl<W, R> DowngradeError<W, R> {
    /// The same error with guards of other types, each made of the one that it has and of `along`.
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
    /// Releases what the error holds.
    fn from(error: DowngradeError<W, R>) -> Self {
        match error {
            DowngradeError::Lost(lost) => Self::Lost(lost),
            DowngradeError::StillWriting { failure, .. }
            | DowngradeError::InDoubt { failure, .. } => Self::Downgrade(failure),
        }
    }
}
