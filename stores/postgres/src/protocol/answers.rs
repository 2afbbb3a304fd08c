//! Which answer is to which question, and when it is over.
//!
//! A pooler gives one session of the server to many clients. One that is given away too early brings the next client the
//! answer to what somebody else asked, as PgBouncer before 1.22.1 does with that of a client that leaves after the first of
//! two answers. So each question asks for a column of a name that no other one has, and an answer without it ends the
//! connection. And we send nothing before an answer is over, which it is not with an error.

use std::{
    fmt,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use tenure_core::{Fault, FaultKind};
use tokio::sync::watch;

/// The name of the column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueryTag(u128);

impl fmt::Display for QueryTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tenure_{:032x}", self.0)
    }
}

impl QueryTag {
    #[cfg(test)]
    pub(crate) const fn of(number: u128) -> Self {
        Self(number)
    }
}

/// What the stream that answers come over and who waits for them tell each other.
#[derive(Debug)]
pub(crate) struct AnswerTracker {
    /// Nobody else's.
    first: u64,
    asked: AtomicU64,
    expected: Mutex<Option<QueryTag>>,
    /// How many are over.
    over: watch::Sender<u64>,
    /// Whether an error came before the columns of the last question: it may be to another one.
    is_doubtful: AtomicBool,
}

/// What a question came to.
#[derive(Debug)]
pub(crate) struct Answer<T> {
    pub(crate) result: Result<T, tokio_postgres::Error>,
    /// Whether that is an error which may be to what another client of a pooler asked.
    pub(crate) is_doubtful: bool,
}

impl AnswerTracker {
    pub(crate) fn new() -> Result<Self, Fault> {
        let first = getrandom::u64().map_err(|error| {
            let what = "the system provides no random numbers";
            let help = "see what keeps this process from reading them";
            Fault::new(FaultKind::Unreachable, what, help).because(error)
        })?;
        Ok(Self {
            first,
            asked: AtomicU64::new(0),
            expected: Mutex::default(),
            over: watch::Sender::default(),
            is_doubtful: AtomicBool::new(false),
        })
    }

    /// A name for the next question.
    pub(crate) fn tag(&self) -> QueryTag {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        QueryTag((u128::from(self.first) << 64) | u128::from(number))
    }

    /// What the next answer is to have, or nothing in a session that is ours alone.
    pub(crate) fn expect(&self, tag: Option<QueryTag>) {
        *self.expected.lock().unwrap_or_else(PoisonError::into_inner) = tag;
    }

    pub(crate) fn expected(&self) -> Option<QueryTag> {
        *self.expected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifications how many are over by now, and whether the last question is in doubt.
    pub(crate) fn tell(&self, over: u64, is_doubtful: bool) {
        self.is_doubtful.store(is_doubtful, Ordering::Relaxed);
        self.over.send_if_modified(|before| std::mem::replace(before, over) != over);
    }

    pub(crate) fn is_doubtful(&self) -> bool {
        self.is_doubtful.load(Ordering::Relaxed)
    }

    /// Changes as soon as the next one is over.
    pub(crate) fn over(&self) -> watch::Receiver<u64> {
        self.over.subscribe()
    }
}
