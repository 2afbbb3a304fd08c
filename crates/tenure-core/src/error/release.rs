//! Why a hold, or many, did not end as they should.

use super::{Lost, StoreFailure};
use crate::parts::ErrorParts;

/// Why a release did not go as it should. The guard is gone all the same, and nothing renews it.
#[non_exhaustive]
pub enum ReleaseError {
    /// The hold had been lost before.
    Lost(Lost),
    /// The store did not answer: the lock is free at the latest when its lease ends, or the session
    /// that it belongs to. The release is still being tried in the background.
    InDoubt(Box<StoreFailure>),
}

impl ReleaseError {
    pub(crate) fn parts(&self) -> ErrorParts<'_> {
        match self {
            Self::Lost(lost) => lost.parts(),
            Self::InDoubt(failure) => failure.parts(),
        }
    }
}

impl From<Lost> for ReleaseError {
    fn from(lost: Lost) -> Self {
        Self::Lost(lost)
    }
}

/// Which locks of an [`AllGuard`](crate::AllGuard) were not released as they should be. All others were.
#[non_exhaustive]
pub struct AllReleaseError {
    /// How many locks the guard had.
    pub parts: usize,
    /// What went wrong, for each that it concerns; at least one.
    pub failures: Vec<ReleaseError>,
}

impl AllReleaseError {
    /// Of so many locks these were not released as they should be.
    #[must_use]
    pub const fn new(parts: usize, failures: Vec<ReleaseError>) -> Self {
        Self { parts, failures }
    }

    pub(crate) fn parts(&self) -> ErrorParts<'_> {
        let Self { parts, failures } = self;
        let mut message =
            format!("{} of {parts} locks were not released as they should be", failures.len());
        // No chain of causes has room for several.
        for failure in failures {
            message = format!("{message}; {failure:#}");
        }
        ErrorParts::new(message)
    }
}

/// What was left when the time for a shutdown was up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{open} holds or waits and {unsettled} releases were left at shutdown; each ends with its lease"
)]
#[non_exhaustive]
pub struct ShutdownError {
    /// Guards and waits that were still there.
    pub open: usize,
    /// Releases and clean-ups that the store had not answered.
    pub unsettled: usize,
}

impl ShutdownError {
    /// So many guards and waits, and so many releases and clean-ups, were left.
    #[must_use]
    pub const fn new(open: usize, unsettled: usize) -> Self {
        Self { open, unsettled }
    }
}
