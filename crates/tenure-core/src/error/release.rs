//! Why one hold or several were not released as they should be.

use super::{Lost, StoreFailure};
use crate::parts::ErrorParts;

/// Why a release failed. The guard is gone anyway, and nothing renews its hold.
#[non_exhaustive]
pub enum ReleaseError {
    /// The hold had already been lost.
    Lost(Lost),
    /// The store did not answer. The lock is free at the latest when its lease ends, or the session that it belongs to.
    /// tenure still retries the release in the background.
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

/// The locks of an [`AllGuard`](crate::AllGuard) that were not released as they should be. All others were released.
#[non_exhaustive]
pub struct AllReleaseError {
    /// The number of locks that the guard had.
    pub parts: usize,
    /// The error of each lock that failed; at least one.
    pub failures: Vec<ReleaseError>,
}

impl AllReleaseError {
    /// Makes the error for a guard of `parts` locks with these failures.
    #[must_use]
    pub const fn new(parts: usize, failures: Vec<ReleaseError>) -> Self {
        Self { parts, failures }
    }

    pub(crate) fn parts(&self) -> ErrorParts<'_> {
        let Self { parts, failures } = self;
        let mut message =
            format!("{} of {parts} locks were not released as they should be", failures.len());
        // A chain of causes has no room for several.
        for failure in failures {
            message = format!("{message}; {failure:#}");
        }
        ErrorParts::new(message)
    }
}

/// What was left when the time for a shutdown ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{open} holds or waits and {unsettled} releases were left at shutdown; each ends with its lease"
)]
#[non_exhaustive]
pub struct ShutdownError {
    /// The number of guards and waits that still existed.
    pub open: usize,
    /// The number of releases and clean-ups that the store had not answered.
    pub unsettled: usize,
}

impl ShutdownError {
    /// Makes the error for these numbers of guards and waits, and of releases and clean-ups.
    #[must_use]
    pub const fn new(open: usize, unsettled: usize) -> Self {
        Self { open, unsettled }
    }
}
