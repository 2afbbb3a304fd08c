//! What a contender asks and what it is told.

use std::time::Duration;

use super::{Kind, Label, Mode, Occupancy};
use crate::{HoldId, Owner, Token};

/// Whether an ask may pass those who wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// First come, first served: nothing is granted past a present waiter.
    Fifo,
    /// Whatever there is room for may be granted although others wait. What is offered to a waiter
    /// is not free.
    Barging,
}

/// What happens to an ask that cannot be granted now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// It leaves nothing behind.
    Try,
    /// It keeps a position in the queue for one position ttl. A store without a queue answers it like a
    /// try.
    Wait {
        /// The position it had before, which it gets back.
        position: Option<Position>,
    },
}

/// A position in the queue of one name; smaller is earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(pub u64);

/// One ask for a name.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Proof of this acquisition, fresh for each.
    pub owner: Owner,
    /// What the name is used as.
    pub kind: Kind,
    /// How the name is to be held.
    pub mode: Mode,
    /// Whether it may pass those who wait.
    pub order: Order,
    /// What happens when it cannot be granted now.
    pub intent: Intent,
    /// How long the lease is to last, grace included, in whole milliseconds.
    pub ttl: Duration,
    /// Who asks, for people.
    pub label: Label,
}

/// A store's answer to an ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The name is held by the asking owner.
    Granted {
        /// The fencing token. Repeating the ask answers the same one.
        token: Token,
        /// What remains of the lease. Where leases belong to a session this is the session's rest,
        /// whatever ttl was asked for.
        left: Duration,
        /// Whether other contenders wait.
        others_waiting: bool,
    },
    /// Somebody else has the name or comes first.
    Busy {
        /// After how long to ask again at the latest.
        retry_after: Duration,
        /// How many contenders wait in front of this one.
        ahead: u32,
        /// One of those who hold the name, if anybody does.
        holder: Option<Contender>,
        /// The position in the queue, for an ask that waits in a store that has one.
        position: Option<Position>,
    },
}

/// A holder, for people to see. It proves nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contender {
    /// Who it is, by its own word; empty where it said nothing.
    pub label: String,
    /// The fencing token of its hold; `None` for a holder of another library that has none.
    pub token: Option<Token>,
    /// When it was granted, in microseconds since the Unix epoch; `None` where the store cannot
    /// tell.
    pub since: Option<u64>,
    /// What remains of its lease; `None` where the store cannot tell.
    pub left: Option<Duration>,
    /// What it uses the name as; `None` where the store cannot tell.
    pub kind: Option<Kind>,
    /// How it holds the name.
    pub mode: Mode,
    /// Whether it let go and the name only stays taken for a while.
    pub lingering: bool,
    /// Which hold this is; `None` where the store cannot tell.
    pub id: Option<HoldId>,
}

impl Contender {
    /// A holder of whom no more is known; a store sets what else it can tell.
    ///
    /// ```
    /// use tenure_proto::queue::{Contender, Mode};
    ///
    /// let mut holder = Contender::new("host/7", Mode::Shared);
    /// holder.since = Some(1_700_000_000_000_000);
    /// assert_eq!(holder.token, None);
    /// ```
    #[must_use]
    pub fn new(label: impl Into<String>, mode: Mode) -> Self {
        let (label, lingering) = (label.into(), false);
        Self { label, token: None, since: None, left: None, kind: None, mode, lingering, id: None }
    }
}

/// A waiter, for people to see.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waiting {
    /// Who it is, by its own word; empty where it said nothing.
    pub label: String,
    /// Since when it waits, in microseconds since the Unix epoch; `None` where the store cannot
    /// tell.
    pub since: Option<u64>,
    /// What it uses the name as; `None` where the store cannot tell.
    pub kind: Option<Kind>,
    /// How it wants to hold the name.
    pub mode: Mode,
}

impl Waiting {
    /// A waiter of whom no more is known; a store sets what else it can tell.
    #[must_use]
    pub fn new(label: impl Into<String>, mode: Mode) -> Self {
        Self { label: label.into(), since: None, kind: None, mode }
    }
}

/// Who holds a name and who waits for it, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Those who hold it.
    pub holders: Vec<Contender>,
    /// Those who wait for it, first the next.
    pub waiters: Vec<Waiting>,
}

impl Snapshot {
    /// What a store found: those who hold the name, and those who wait for it, first the next.
    #[must_use]
    pub const fn new(holders: Vec<Contender>, waiters: Vec<Waiting>) -> Self {
        Self { holders, waiters }
    }

    /// Whether anybody has the name, also where it is only kept taken after a release.
    #[must_use]
    pub fn is_held(&self) -> bool {
        !self.holders.is_empty()
    }

    /// How many of `of` permits are not taken: none while somebody holds the name in another way.
    #[must_use]
    pub fn available(&self, of: u32) -> u32 {
        Occupancy::taken_by(self.holders.iter().map(|holder| holder.mode)).available(of)
    }
}
