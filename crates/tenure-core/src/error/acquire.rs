//! Why a lock was not acquired.

use tenure_proto::{OutOfRange, all};

use super::{LockAddress, StoreFailure, TimedOut};
use crate::parts::ErrorParts;
use crate::{Fault, FaultKind, NameError};

/// Why a lock was not acquired.
#[non_exhaustive]
pub enum AcquireError {
    /// The name cannot be used.
    Name(NameError),
    /// A setting is out of range.
    Setting(OutOfRange),
    /// Somebody else had the lock for as long as the caller was ready to wait.
    TimedOut(Box<TimedOut>),
    /// The store did not answer: the lock may have been acquired and is being taken back, which
    /// can last for one ttl. Count on neither.
    InDoubt(Box<StoreFailure>),
    /// The store could not be asked; nothing was acquired.
    Unreachable(Box<StoreFailure>),
    /// Something must be changed first; nothing was acquired.
    Misconfigured(Box<StoreFailure>),
    /// The store has as many waiters for this lock as it allows; nothing was acquired. Ask again after a pause.
    /// While that goes on, one caller of a process asks the store for all who came before, 40 times a second at
    /// most unless it finds room: the answer may take 25 ms longer for that.
    Full(Box<StoreFailure>),
    /// No permits of a semaphore were asked for, or more than it has; nothing was acquired.
    Permits {
        /// Which lock, in which store.
        lock: LockAddress,
        /// How many were asked for.
        take: u32,
        /// How many there are.
        of: u32,
    },
    /// What the store keeps of this lock makes no sense; nothing was acquired.
    Corrupt(Box<StoreFailure>),
    /// This process has as many holds and waiters as its [`Tenure`](crate::Tenure) allows.
    TooManyHolds {
        /// Which lock, in which store.
        lock: LockAddress,
        /// The limit.
        limit: usize,
    },
    /// A reentrant lock was asked for where no [`Scope`](crate::Scope) is that could enter it again.
    NoScope {
        /// Which lock, in which store.
        lock: LockAddress,
    },
    /// A multi-lock of no locks, or of more than [`All::MOST`](crate::All::MOST).
    Names {
        /// How many were given.
        given: usize,
    },
    /// A multi-lock that has a lock twice, through two [`Tenure`](crate::Tenure)s on one store, and
    /// would wait for itself.
    Twice {
        /// Which lock, in which store.
        lock: LockAddress,
    },
    /// The [`Tenure`](crate::Tenure) was shut down, or its process forked.
    ShutDown {
        /// Which lock, in which store.
        lock: LockAddress,
    },
}

impl AcquireError {
    /// The same, after a call that may have had an effect if `doubted`: then it is not certain that nothing
    /// was acquired.
    pub(crate) fn after(self, doubted: bool) -> Self {
        match self {
            Self::Unreachable(failure)
            | Self::Misconfigured(failure)
            | Self::Full(failure)
            | Self::Corrupt(failure)
                if doubted =>
            {
                let StoreFailure { lock, fault } = *failure;
                Self::store(lock, fault.in_doubt())
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
            Self::Permits { lock, take, of } => {
                ErrorParts::at(lock, format_args!("{take} of {of} permits can never be granted"))
                    .help("take at least one permit, and at most all of them")
            }
            Self::TooManyHolds { lock, limit } => {
                let message =
                    format_args!("this process has {limit} holds and waiters, the maximum");
                ErrorParts::at(lock, message).help("release some or raise the limit")
            }
            Self::NoScope { lock } => {
                ErrorParts::at(lock, "a reentrant lock belongs to a scope, and there is none here")
                    .help("call from within scope(…), or write within(&scope)")
            }
            Self::Names { given } => {
                let message = format!("a multi-lock of {given} locks cannot be acquired");
                let help = format!("give 1 to {}, or one lock that stands for them all", all::MOST);
                ErrorParts::new(message).help(help)
            }
            Self::Twice { lock } => {
                ErrorParts::at(lock, "given twice, through two tenures of this store")
                    .help("use one of them for both")
            }
            Self::ShutDown { lock } => {
                let message =
                    "this tenure was shut down, or opened before a fork into this process";
                ErrorParts::at(lock, message).help("open another")
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
