//! Why a lock was not acquired.

use tenure_proto::{OutOfRange, all};

use super::{LockAddress, StoreFailure, TimedOut};
use crate::parts::ErrorParts;
use crate::{Fault, FaultKind, NameError};

/// Why a lock was not acquired.
#[non_exhaustive]
pub enum AcquireError {
    /// The name is invalid.
    Name(NameError),
    /// A setting is out of range.
    Setting(OutOfRange),
    /// The lock was held by another holder for the whole wait.
    TimedOut(Box<TimedOut>),
    /// The store did not answer: the lock may have been acquired and is being taken back, which can take up to one ttl.
    /// Do not count on either outcome.
    InDoubt(Box<StoreFailure>),
    /// The store could not be asked; nothing was acquired.
    Unreachable(Box<StoreFailure>),
    /// Something must be changed first; nothing was acquired.
    Misconfigured(Box<StoreFailure>),
    /// The store has as many waiters for this lock as it allows; nothing was acquired. Try again after a pause. While
    /// this continues, one caller of a process asks the store for all earlier callers, at most 40 times a second unless
    /// it finds room. This can delay the answer by 25 ms.
    Full(Box<StoreFailure>),
    /// The number of permits asked for is zero or more than the semaphore has; nothing was acquired.
    Permits {
        /// The lock and its store.
        lock: LockAddress,
        /// The number of permits asked for.
        take: u32,
        /// The number of permits of the semaphore.
        of: u32,
    },
    /// The store's data about this lock is not valid; nothing was acquired.
    Corrupt(Box<StoreFailure>),
    /// This process has as many holds and waiters as its [`Tenure`](crate::Tenure) allows.
    TooManyHolds {
        /// The lock and its store.
        lock: LockAddress,
        /// The limit.
        limit: usize,
    },
    /// A reentrant lock was requested outside any [`Scope`](crate::Scope).
    NoScope {
        /// The lock and its store.
        lock: LockAddress,
    },
    /// A multi-lock of no locks, or of more than [`All::MOST`](crate::All::MOST).
    Names {
        /// The number of names given.
        given: usize,
    },
    /// A multi-lock contains a lock twice, through two [`Tenure`](crate::Tenure)s on one store, and would wait for
    /// itself.
    Twice {
        /// The lock and its store.
        lock: LockAddress,
    },
    /// The [`Tenure`](crate::Tenure) was shut down, or its process forked.
    ShutDown {
        /// The lock and its store.
        lock: LockAddress,
    },
}

impl AcquireError {
    /// This error after a call that, if `doubted`, may have had an effect: then it is not certain that nothing was
    /// acquired.
    pub(crate) fn in_doubt_if(self, doubted: bool) -> Self {
        match self {
            Self::Unreachable(failure)
            | Self::Misconfigured(failure)
            | Self::Full(failure)
            | Self::Corrupt(failure)
                if doubted =>
            {
                let StoreFailure { lock, fault } = *failure;
                Self::store(lock, fault.into_in_doubt())
            }
            other => other,
        }
    }

    pub(crate) fn store(lock: LockAddress, fault: Fault) -> Self {
        let kind = fault.kind();
        let failure = Box::new(StoreFailure { lock, fault });
        match kind {
            FaultKind::InDoubt => Self::InDoubt(failure),
            FaultKind::Unreachable => Self::Unreachable(failure),
            FaultKind::Misconfigured | FaultKind::Unsupported => Self::Misconfigured(failure),
            FaultKind::Full => Self::Full(failure),
            FaultKind::Corrupt => Self::Corrupt(failure),
        }
    }

    pub(crate) fn parts(&self) -> ErrorParts<'_> {
        match self {
            Self::Name(error) => ErrorParts::of(error),
            Self::Setting(error) => ErrorParts::new(error.message()).help(error.help()),
            Self::TimedOut(timed_out) => timed_out.parts(),
            Self::InDoubt(failure)
            | Self::Unreachable(failure)
            | Self::Misconfigured(failure)
            | Self::Full(failure)
            | Self::Corrupt(failure) => failure.parts(),
            Self::Permits { lock, take, of } => ErrorParts::for_lock(
                lock,
                format_args!("{take} of {of} permits can never be granted"),
            )
            .help("take at least one permit, and at most all of them"),
            Self::TooManyHolds { lock, limit } => {
                let message =
                    format_args!("this process has {limit} holds and waiters, the maximum");
                ErrorParts::for_lock(lock, message).help("release some or raise the limit")
            }
            Self::NoScope { lock } => ErrorParts::for_lock(
                lock,
                "a reentrant lock belongs to a scope, and there is none here",
            )
            .help("call from within scope(…), or write within(&scope)"),
            Self::Names { given } => {
                let message = format!("a multi-lock of {given} locks cannot be acquired");
                let help = format!("give 1 to {}, or one lock that stands for them all", all::MOST);
                ErrorParts::new(message).help(help)
            }
            Self::Twice { lock } => {
                ErrorParts::for_lock(lock, "given twice, through two tenures of this store")
                    .help("use one of them for both")
            }
            Self::ShutDown { lock } => {
                let message =
                    "this tenure was shut down, or opened before a fork into this process";
                ErrorParts::for_lock(lock, message).help("open another")
            }
        }
    }
}

impl From<NameError> for AcquireError {
    fn from(error: NameError) -> Self {
        Self::Name(error)
    }
}

impl From<OutOfRange> for AcquireError {
    fn from(error: OutOfRange) -> Self {
        Self::Setting(error)
    }
}
