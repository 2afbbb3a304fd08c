//! The kinds of lock.

use std::{fmt, str::FromStr};

/// The kind of lock for which a name is used.
///
/// It does not affect which contenders may hold a name together: that depends on the [`Mode`](super::Mode). A store may
/// write each kind in a separate layout, and people see it.
///
/// ```
/// use tenure_proto::queue::Kind;
///
/// assert_eq!(Kind::ReadWrite.to_string(), "rwlock");
/// assert_eq!("rwlock".parse(), Ok(Kind::ReadWrite));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A lock for one holder: also a reentrant one, and each of a multi-lock.
    #[default]
    Mutex,
    /// A read-write lock, for readers and for a writer.
    ReadWrite,
    /// A semaphore with permits.
    Semaphore,
    /// An election, which its leader holds.
    Election,
    /// A latch, whose arrivals stay.
    Latch,
}

/// A word that is not a [`Kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a kind of lock is one of mutex, rwlock, semaphore, election, latch")]
pub struct NoKind;

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 5] =
        [Self::Mutex, Self::ReadWrite, Self::Semaphore, Self::Election, Self::Latch];

    /// Returns the kind as a word, the same everywhere and in each version.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mutex => "mutex",
            Self::ReadWrite => "rwlock",
            Self::Semaphore => "semaphore",
            Self::Election => "election",
            Self::Latch => "latch",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = NoKind;

    fn from_str(word: &str) -> Result<Self, NoKind> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word).ok_or(NoKind)
    }
}
