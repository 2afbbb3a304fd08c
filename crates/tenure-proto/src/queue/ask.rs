//! A contender's request, and the answer.

use std::time::Duration;

use super::{Identity, Kind, Label, Mode, Occupancy, identity};
use crate::{HoldId, Owner, Token};

/// Whether an ask may overtake waiters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// First come, first served: no grant overtakes a present waiter.
    Fifo,
    /// Grants whatever fits, even if others wait. A name that is offered to a waiter is not free.
    Barging,
}

/// What happens to an ask that cannot be granted now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// It leaves nothing behind.
    Try,
    /// It keeps a position in the queue for one position TTL. A store without a queue answers as for a try.
    Wait {
        /// The position that it had before, which it gets back.
        position: Option<Position>,
    },
}

/// A position in the queue of one name; smaller is earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(pub u64);

/// One ask for a name.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The proof of this acquisition, new for each.
    pub owner: Owner,
    /// The kind for which the name is used.
    pub kind: Kind,
    /// The mode in which to hold the name.
    pub mode: Mode,
    /// Whether it may overtake waiters.
    pub order: Order,
    /// What happens if it cannot be granted now.
    pub intent: Intent,
    /// The length of the lease, grace included, in whole milliseconds.
    pub ttl: Duration,
    /// The label of the asking contender, for people.
    pub label: Label,
}

/// A store's answer to an ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The asking owner holds the name.
    Granted {
        /// The fencing token. Repeating the ask returns the same one.
        token: Token,
        /// What is left of the lease. If leases belong to a session, this is what is left of the session, whatever the
        /// requested ttl.
        left: Duration,
        /// Whether other contenders wait.
        others_waiting: bool,
    },
    /// Another contender has the name or is ahead.
    Busy {
        /// After how long to ask again at the latest.
        retry_after: Duration,
        /// How many waiters are ahead of this one.
        ahead: u32,
        /// One of the holders, if there are any.
        holder: Option<Contender>,
        /// The queue position, for an ask that waits in a store with a queue.
        position: Option<Position>,
    },
}

/// A holder, for people to see. It proves nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contender {
    /// The holder's own label, without the fields behind it; empty if it has none.
    pub label: String,
    /// The fields behind the label.
    pub(crate) fields: Option<Box<str>>,
    /// The fencing token of its hold; `None` for a holder of another library without tokens.
    pub token: Option<Token>,
    /// When it was granted, in microseconds since the Unix epoch; `None` if the store does not know.
    pub since: Option<u64>,
    /// What is left of its lease; `None` if the store does not know.
    pub left: Option<Duration>,
    /// The kind for which it uses the name; `None` if the store does not know.
    pub kind: Option<Kind>,
    /// The mode in which it holds the name.
    pub mode: Mode,
    /// Whether it released the name, which only stays taken for a while.
    pub lingering: bool,
    /// The id of the hold; `None` if the store does not know.
    pub id: Option<HoldId>,
}

impl Contender {
    /// Makes a holder of which only its whole label, as the store has it, and its mode are known. A store sets what
    /// else it knows.
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
        let (label, fields) = without_fields(label.into());
        Self {
            label,
            fields,
            token: None,
            since: None,
            left: None,
            kind: None,
            mode,
            lingering: false,
            id: None,
        }
    }

    /// Returns the label as the store has it, with its fields.
    #[must_use]
    pub fn whole_label(&self) -> String {
        let fields = self.fields.as_ref();
        fields.map_or_else(|| self.label.clone(), |fields| format!("{} {{{fields}}}", self.label))
    }

    /// Returns who this holder says it is.
    ///
    /// ```
    /// use tenure_proto::queue::{Contender, Mode};
    ///
    /// let holder = Contender::new("10.0.0.7:9000 {host=web3 pid=4711}", Mode::Exclusive);
    /// assert_eq!(holder.label, "10.0.0.7:9000");
    /// assert_eq!(holder.identity().host.as_deref(), Some("web3"));
    /// ```
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity::of(&self.label, self.fields.as_deref())
    }

    /// Returns what the label does not tell of this holder, for people: `alice@web3/4711 backup.sh of shop@1.4.2:
    /// monthly report`.
    #[must_use]
    pub fn details(&self) -> Option<String> {
        self.identity().beside(&self.label)
    }
}

/// A label, and the fields behind it.
fn without_fields(label: String) -> (String, Option<Box<str>>) {
    let Some((own, fields)) = identity::split(&label) else { return (label, None) };
    let fields = fields.into();
    let end = own.len();
    let mut label = label;
    label.truncate(end);
    (label, Some(fields))
}

/// A waiter, for people to see.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waiting {
    /// The waiter's own label, without the fields behind it; empty if it has none.
    pub label: String,
    /// The fields behind the label.
    pub(crate) fields: Option<Box<str>>,
    /// Since when it waits, in microseconds since the Unix epoch; `None` if the store does not know.
    pub since: Option<u64>,
    /// The kind for which it uses the name; `None` if the store does not know.
    pub kind: Option<Kind>,
    /// The mode in which it wants to hold the name.
    pub mode: Mode,
}

impl Waiting {
    /// Makes a waiter with only these fields known. A store sets what else it knows.
    #[must_use]
    pub fn new(label: impl Into<String>, mode: Mode) -> Self {
        let (label, fields) = without_fields(label.into());
        Self { label, fields, since: None, kind: None, mode }
    }

    /// Returns who this waiter says it is.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity::of(&self.label, self.fields.as_deref())
    }

    /// Returns what the label does not tell of this waiter, as [`Contender::details`] does.
    #[must_use]
    pub fn details(&self) -> Option<String> {
        self.identity().beside(&self.label)
    }
}

/// The holders and the waiters of a name, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The holders.
    pub holders: Vec<Contender>,
    /// The waiters, the next one first.
    pub waiters: Vec<Waiting>,
}

impl Snapshot {
    /// Makes a snapshot of the holders, and of the waiters with the next one first.
    #[must_use]
    pub const fn new(holders: Vec<Contender>, waiters: Vec<Waiting>) -> Self {
        Self { holders, waiters }
    }

    /// Returns whether the name is held or stays taken after a release.
    #[must_use]
    pub fn is_held(&self) -> bool {
        !self.holders.is_empty()
    }

    /// Returns how many of `of` permits are free: none while the name is held in another mode.
    #[must_use]
    pub fn available(&self, of: u32) -> u32 {
        Occupancy::taken_by(self.holders.iter().map(|holder| holder.mode)).available(of)
    }
}
