//! Why a lock was not acquired.

use std::{fmt, time::Duration};

use tenure_proto::{OutOfRange, queue::Contender, time::floor_millis};

use super::{Place, Trouble};
use crate::{Fault, FaultKind, NameError};

/// How a wait for a lock ended without it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimedOut {
    /// Which lock, in which store.
    pub place: Place,
    /// How long the wait was.
    pub waited: Duration,
    /// Who held the lock at last, if that is known.
    pub holder: Option<Contender>,
    /// How many contenders were ahead then.
    pub ahead: u32,
    /// Whether the holder was a task of this process, and those ahead were, too.
    pub here: bool,
}

impl TimedOut {
    /// A wait that ended, of which no more is known.
    #[must_use]
    pub const fn new(place: Place, waited: Duration) -> Self {
        Self { place, waited, holder: None, ahead: 0, here: false }
    }
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Less than a millisecond of a wait means nothing to anybody.
        let waited = Duration::from_millis(floor_millis(self.waited));
        write!(f, "{}: not free within {waited:?}", self.place)?;
        match &self.holder {
            Some(holder) if self.here => {
                write!(f, ", held by this process (label {:?})", holder.label)?;
            }
            Some(holder) if holder.lingering => {
                write!(f, ", released by {:?}, but kept taken", holder.label)?;
                if let Some(left) = holder.left {
                    write!(f, " for another {:?}", Duration::from_secs(left.as_secs()))?;
                }
            }
            Some(holder) if holder.label.is_empty() => {
                write!(f, ", held by somebody without a label")?;
            }
            Some(holder) => write!(f, ", held by {:?}", holder.label)?,
            None => {}
        }
        if self.ahead > 0 {
            write!(f, ", {} ahead", self.ahead)?;
        }
        if self.here && self.holder.is_some() {
            return write!(f, "; see whether who waits holds it itself, or wait longer");
        }
        write!(f, "; wait longer or try again later")
    }
}

/// Why a lock was not acquired.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum AcquireError {
    /// The name cannot be used.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A setting is out of range.
    #[error(transparent)]
    Setting(#[from] OutOfRange),
    /// Somebody else had the lock for as long as the caller was ready to wait.
    #[error("{0}")]
    TimedOut(Box<TimedOut>),
    /// The store did not answer: the lock may have been acquired and is being taken back, which
    /// can last for one ttl. Count on neither.
    #[error(transparent)]
    InDoubt(Box<Trouble>),
    /// The store could not be asked; nothing was acquired.
    #[error(transparent)]
    Unreachable(Box<Trouble>),
    /// Something must be changed first; nothing was acquired.
    #[error(transparent)]
    Misconfigured(Box<Trouble>),
    /// The store has as many waiters for this lock as it allows; nothing was acquired. Ask again after a pause.
    /// While that goes on, one caller of a process asks the store for all who came before, 40 times a second at
    /// most unless it finds room: the answer may take 25 ms longer for that.
    #[error(transparent)]
    Full(Box<Trouble>),
    /// No permits of a semaphore were asked for, or more than it has; nothing was acquired.
    #[error(
        "{place}: {take} of {of} permits can never be had; take at least one and at most as many as there are"
    )]
    Permits {
        /// Which lock, in which store.
        place: Place,
        /// How many were asked for.
        take: u32,
        /// How many there are.
        of: u32,
    },
    /// What the store keeps of this lock makes no sense; nothing was acquired.
    #[error(transparent)]
    Corrupt(Box<Trouble>),
    /// This process has as many holds and waiters as its [`Tenure`](crate::Tenure) allows.
    #[error(
        "{place}: {limit} holds and waiters of this process are the most; release some or raise the limit"
    )]
    TooManyHolds {
        /// Which lock, in which store.
        place: Place,
        /// The limit.
        limit: usize,
    },
    /// A reentrant lock was asked for where no [`Scope`](crate::Scope) is that could enter it again.
    #[error(
        "{place}: a reentrant lock belongs to a scope, and there is none here; call from within scope(…), or say within(&scope)"
    )]
    NoScope {
        /// Which lock, in which store.
        place: Place,
    },
    /// A multi-lock of no locks, or of more than [`All::MOST`](crate::All::MOST).
    #[error(
        "a multi-lock of {given} locks cannot be acquired: give 1 to {}, or one lock that stands for them all",
        tenure_proto::all::MOST
    )]
    Names {
        /// How many were given.
        given: usize,
    },
    /// A multi-lock that has a lock twice, through two [`Tenure`](crate::Tenure)s on one store, and
    /// would wait for itself.
    #[error("{place}: given twice, through two tenures of this store; use one of them for both")]
    Twice {
        /// Which lock, in which store.
        place: Place,
    },
    /// The [`Tenure`](crate::Tenure) was shut down, or its process forked.
    #[error(
        "{place}: this tenure was shut down, or opened before a fork into this process; open another"
    )]
    ShutDown {
        /// Which lock, in which store.
        place: Place,
    },
}

impl AcquireError {
    /// The same, after a call that may have had an effect if `doubted`: then it is not certain that nothing
    /// was acquired.
    pub(crate) fn after(self, doubted: bool) -> Self {
        match self {
            Self::Unreachable(trouble)
            | Self::Misconfigured(trouble)
            | Self::Full(trouble)
            | Self::Corrupt(trouble)
                if doubted =>
            {
                let Trouble { place, fault } = *trouble;
                Self::store(place, fault.in_doubt())
            }
            other => other,
        }
    }

    pub(crate) fn store(place: Place, fault: Fault) -> Self {
        let kind = fault.kind();
        let trouble = Box::new(Trouble { place, fault });
        match kind {
            FaultKind::InDoubt => Self::InDoubt(trouble),
            FaultKind::Unreachable => Self::Unreachable(trouble),
            FaultKind::Misconfigured | FaultKind::Unsupported => Self::Misconfigured(trouble),
            FaultKind::Full => Self::Full(trouble),
            FaultKind::Corrupt => Self::Corrupt(trouble),
        }
    }
}
