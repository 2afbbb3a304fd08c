//! Why calls that acquire nothing failed.

use std::time::Duration;

use super::{BadArrival, LockAddress, OutOfRange, StoreFailure};
use crate::parts::ErrorParts;
use crate::{Fault, NameError};

/// Why inspecting a lock, or another call that acquires nothing, failed.
#[non_exhaustive]
pub enum InspectError {
    /// The name is invalid.
    Name(NameError),
    /// The store failed. The kind of fault says whether another try may help.
    Store(Box<StoreFailure>),
}

impl InspectError {
    pub(crate) fn store(lock: LockAddress, fault: Fault) -> Self {
        Self::Store(Box::new(StoreFailure { lock, fault }))
    }

    pub(crate) fn parts(&self) -> ErrorParts<'_> {
        match self {
            Self::Name(error) => ErrorParts::of(error),
            Self::Store(failure) => failure.parts(),
        }
    }
}

impl From<NameError> for InspectError {
    fn from(error: NameError) -> Self {
        Self::Name(error)
    }
}

/// Why an arrival at a latch, or a wait, failed.
#[non_exhaustive]
pub enum LatchError {
    /// The latch's name is invalid, or the store failed.
    Inspect(InspectError),
    /// The arrival's name is invalid.
    Arrival(BadArrival),
    /// A setting is out of range.
    Setting(OutOfRange),
    /// Some arrivals were still missing at the end of the wait.
    TimedOut {
        /// The latch and its store.
        lock: LockAddress,
        /// The length of the wait.
        waited: Duration,
        /// The number of missing arrivals.
        remaining: u32,
        /// The number of arrivals that open the latch.
        count: u32,
    },
}

impl LatchError {
    pub(crate) fn parts(&self) -> ErrorParts<'_> {
        match self {
            Self::Inspect(error) => error.parts(),
            Self::Arrival(error) => ErrorParts::of(error),
            Self::Setting(error) => ErrorParts::new(error.message()).help(error.help()),
            Self::TimedOut { lock, waited, remaining, count } => {
                let message =
                    format_args!("{remaining} of {count} had not arrived within {waited:?}");
                ErrorParts::for_lock(lock, message)
                    .help("wait longer, or see with `arrived` which are missing")
            }
        }
    }
}

impl From<InspectError> for LatchError {
    fn from(error: InspectError) -> Self {
        Self::Inspect(error)
    }
}

impl From<BadArrival> for LatchError {
    fn from(error: BadArrival) -> Self {
        Self::Arrival(error)
    }
}

impl From<OutOfRange> for LatchError {
    fn from(error: OutOfRange) -> Self {
        Self::Setting(error)
    }
}

impl From<NameError> for LatchError {
    fn from(error: NameError) -> Self {
        Self::Inspect(error.into())
    }
}
