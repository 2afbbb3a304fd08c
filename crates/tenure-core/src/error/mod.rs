//! Errors, each by what the caller can do next (promise [S9](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s9-faults-are-values)).

mod acquire;
mod handle;
pub mod questions;

use std::{error::Error, fmt, sync::Arc, time::Duration};

pub use acquire::{AcquireError, TimedOut};
pub use handle::{DetachError, HandleError};
use tenure_proto::{LostReason, Token};
pub use tenure_proto::{OutOfRange, latch::BadArrival};

use crate::{Fault, LockName, NameError};

/// `Debug` of an error is its text: that is what `main` prints which gives it back.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_is_text {
    ($($error:ty),+) => {$(
        impl ::std::fmt::Debug for $error {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(self, f)
            }
        }
    )+};
}

debug_is_text!(
    AcquireError,
    AnyError,
    DetachError,
    HandleError,
    LatchError,
    LookError,
    ReleaseError
);

/// Which lock, in which store: the beginning of every error's text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The lock's name.
    pub name: LockName,
    /// The store, without its password.
    pub store: String,
}

impl Place {
    /// The lock `name` in `store`, which is what [`Store::location`](crate::Store::location) says.
    #[must_use]
    pub fn new(name: LockName, store: impl Into<String>) -> Self {
        Self { name, store: store.into() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lock {:?} in {}", self.name, self.store)
    }
}

/// A store's fault on the way to a lock.
#[derive(Debug)]
#[non_exhaustive]
pub struct Trouble {
    /// Which lock, in which store.
    pub place: Place,
    /// What happened, and what the user can do.
    pub fault: Fault,
}

impl Trouble {
    /// This fault, on the way to the lock at this place.
    #[must_use]
    pub const fn new(place: Place, fault: Fault) -> Self {
        Self { place, fault }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.fault)
    }
}

impl Error for Trouble {}

/// A hold that ended before it was released. Whatever it protected may be in other hands.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{place}: the hold with token {token} was lost: {}; stop the work it protected", self.why())]
#[non_exhaustive]
pub struct Lost {
    /// Which lock, in which store.
    pub place: Place,
    /// The token of the hold.
    pub token: Token,
    /// Why it ended.
    pub reason: LostReason,
    fault: Option<Arc<Fault>>,
}

impl Lost {
    /// The hold with this token ended for this reason.
    #[must_use]
    pub fn new(place: Place, token: Token, reason: LostReason) -> Self {
        Self { place, token, reason, fault: None }
    }

    pub(crate) fn because(self, fault: Arc<Fault>) -> Self {
        Self { fault: Some(fault), ..self }
    }

    /// Why the last renewal failed, where the deadline passed without one: which store was away, say,
    /// and what the system said of it.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_deref()
    }

    fn why(&self) -> String {
        match (self.reason, &self.fault) {
            (LostReason::Taken, _) => "the store says that the lease ended or was taken".to_owned(),
            (LostReason::MaxHold, _) => "it reached the longest hold that was asked for".to_owned(),
            // Whatever else ends a hold shows as a deadline that passed.
            (_, None) => "no renewal was answered before its deadline".to_owned(),
            (_, Some(fault)) => {
                format!("it was not renewed before its deadline, as {}", fault.what_and_why())
            }
        }
    }
}

/// Two losses are equal if they are the same hold's, for the same reason.
impl PartialEq for Lost {
    fn eq(&self, other: &Self) -> bool {
        (&self.place, self.token, self.reason) == (&other.place, other.token, other.reason)
    }
}

impl Eq for Lost {}

/// Why a release did not go as it should. The guard is gone all the same, and nothing renews it.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ReleaseError {
    /// The hold had been lost before.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The store did not answer: the lock is free at the latest when its lease ends, or the session
    /// that it belongs to. The release is still being tried in the background.
    #[error(transparent)]
    InDoubt(Box<Trouble>),
}

/// Why a look at a name, or another call that acquires nothing, failed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum LookError {
    /// The name cannot be used.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The store did not do it: what kind of fault it is says whether trying again may help.
    #[error(transparent)]
    Store(Box<Trouble>),
}

/// Why nobody arrived at a latch, or was not let through.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum LatchError {
    /// The name cannot be used, or the store did not do it.
    #[error(transparent)]
    Look(#[from] LookError),
    /// The arrival's name cannot be used.
    #[error(transparent)]
    Arrival(#[from] BadArrival),
    /// A setting is out of range.
    #[error(transparent)]
    Setting(#[from] OutOfRange),
    /// Not everybody arrived for as long as the caller was ready to wait.
    #[error(
        "{place}: {remaining} of {count} had not arrived within {waited:?}; \
         wait longer, or see with `arrived` who is missing"
    )]
    TimedOut {
        /// Which latch, in which store.
        place: Place,
        /// How long the wait was.
        waited: Duration,
        /// How many had not arrived.
        remaining: u32,
        /// How many are waited for.
        count: u32,
    },
}

impl LookError {
    pub(crate) fn store(place: Place, fault: Fault) -> Self {
        Self::Store(Box::new(Trouble { place, fault }))
    }
}

impl From<NameError> for LatchError {
    fn from(error: NameError) -> Self {
        Self::Look(error.into())
    }
}

/// Which locks of an [`AllGuard`](crate::AllGuard) were not released as they should be. All others were.
#[derive(Debug)]
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
}

impl fmt::Display for AllReleaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { parts, failures } = self;
        write!(f, "{} of {parts} locks were not released as they should be", failures.len())?;
        failures.iter().try_for_each(|failure| write!(f, "; {failure}"))
    }
}

impl Error for AllReleaseError {}

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

/// Any error of tenure, for callers that do not tell them apart.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum AnyError {
    /// A lock was not acquired.
    #[error(transparent)]
    Acquire(#[from] AcquireError),
    /// A hold was lost.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// A release did not go as it should.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// A downgrade was refused, or its answer never came.
    #[error(transparent)]
    Downgrade(Box<Trouble>),
    /// Some locks of a multi-lock were not released as they should be.
    #[error(transparent)]
    ReleaseAll(#[from] AllReleaseError),
    /// A shutdown left something behind.
    #[error(transparent)]
    Shutdown(#[from] ShutdownError),
    /// A latch could not be used, or stayed closed.
    #[error(transparent)]
    Latch(#[from] LatchError),
    /// A look at a name failed.
    #[error(transparent)]
    Look(#[from] LookError),
    /// A guard did not become a handle.
    #[error(transparent)]
    Detach(#[from] DetachError),
    /// A handle did not do what it is for.
    #[error(transparent)]
    Handle(#[from] HandleError),
    /// A store was not opened.
    #[error("{error}")]
    Open {
        /// Why, as who opened it says.
        error: Box<dyn Error + Send + Sync>,
        /// Whether the same may work later, without anybody changing anything.
        is_transient: bool,
    },
}
