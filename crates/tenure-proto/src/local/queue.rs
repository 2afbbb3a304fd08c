//! The queue of one name inside one process.

use std::{collections::BTreeMap, time::Duration};

use super::turn::{AtRelease, Next, Turn};
use crate::{
    Timestamp, Token,
    rule::{Rule, kept},
};

/// A task's number in its queue. Tickets rise, their order is that of the queue, and no two queues give
/// out the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket {
    queue: u64,
    number: u64,
}

/// Where a task stands that joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// At the head: nobody else here has or wants the name.
    Head(Ticket),
    /// Behind others.
    Behind(Ticket),
}

/// To whom something goes that a task leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handoff<W> {
    /// This task stands at the head from now on and is to ask the store.
    Head(Ticket, W),
    /// This task gets the lease, with this token.
    Lease(W, Token),
    /// Nobody waits: the queue is empty.
    Nobody,
    /// It only waited itself, and this was known of it.
    Gone(W),
    /// Nothing was left that could go to anybody.
    Nothing,
}

/// The tasks of one process that want one name. `W` is what is known of one that waits.
///
/// The task at the **head** speaks to the store for all: it asks, or it has the lease. What it leaves
/// goes to the one that has waited longest. A task that is woken has to take the head within a
/// window, and one that asks has to go on within it, or the head goes to the next: futures are not
/// always polled, and nobody is to wait for one that is not.
///
/// Every event names the ticket that it is about. One that is about a head of old changes nothing.
///
/// ```
/// use std::time::Duration;
/// use tenure_proto::{Timestamp, local::{Handoff, Joined, LocalQueue}};
///
/// let now = Timestamp::ZERO;
/// let mut queue = LocalQueue::new(1, Duration::from_millis(500));
/// let Joined::Head(first) = queue.join(|| "never waits") else { panic!() };
/// let Joined::Behind(second) = queue.join(|| "second") else { panic!() };
/// assert_eq!(queue.leave(first, now), Handoff::Head(second, "second"));
/// assert!(queue.take(second));
/// assert_eq!(queue.leave(second, now), Handoff::Nobody);
/// ```
#[derive(Clone, Debug)]
pub struct LocalQueue<W> {
    window: Duration,
    waiting: BTreeMap<Ticket, W>,
    next: Ticket,
    head: Option<(Ticket, Doing)>,
}

/// What the head is doing.
#[derive(Clone, Copy, Debug)]
enum Doing {
    /// It was woken, and has to take it by then.
    Woken(Timestamp),
    /// It asks the store. Where it waits, it has to go on by then.
    Asks(Option<Timestamp>),
    /// It has the lease.
    Holds(Turn),
}

impl<W> LocalQueue<W> {
    /// An empty queue whose tasks have this long to take what they are handed. Its `id` is no other
    /// queue's: a queue is forgotten when it is empty, and a ticket may outlive it.
    #[must_use]
    pub const fn new(id: u64, window: Duration) -> Self {
        let next = Ticket { queue: id, number: 0 };
        Self { window, waiting: BTreeMap::new(), next, head: None }
    }

    /// A task wants the name. What is known of it is only needed if it has to wait.
    pub fn join(&mut self, waiter: impl FnOnce() -> W) -> Joined {
        if let Some(ticket) = self.join_if_empty() {
            return Joined::Head(ticket);
        }
        let ticket = self.ticket();
        self.waiting.insert(ticket, waiter());
        Joined::Behind(ticket)
    }

    /// A task wants the name if nobody else here has or wants it.
    pub fn join_if_empty(&mut self) -> Option<Ticket> {
        if self.head.is_some() {
            return None;
        }
        let ticket = self.ticket();
        self.head = Some((ticket, Doing::Asks(None)));
        Some(ticket)
    }

    /// A task that was woken takes the head; `false` if that has gone on to another.
    #[must_use]
    pub fn take(&mut self, ticket: Ticket) -> bool {
        let taken = matches!(self.at_head(ticket), Some(Doing::Woken(_)));
        if taken {
            self.head = Some((ticket, Doing::Asks(None)));
        }
        taken
    }

    /// The head waits for an answer or for its next ask, and goes on at `until` at the latest.
    pub fn waits(&mut self, ticket: Ticket, until: Timestamp) {
        if matches!(self.at_head(ticket), Some(Doing::Asks(_))) {
            let due = until.saturating_add(self.window);
            self.head = Some((ticket, Doing::Asks(Some(due))));
        }
    }

    /// The store granted the lease to the task with this ticket. If that is the head, the lease is
    /// there from now on, whichever task it goes to; else `false`, and it is no business of this
    /// queue.
    #[must_use]
    pub fn granted(&mut self, ticket: Ticket, now: Timestamp) -> bool {
        let is_head = self.is_head(ticket);
        if is_head {
            self.head = Some((ticket, Doing::Holds(Turn::begin(now))));
        }
        is_head
    }

    /// The lease at the head is let go of by the task that has it. `lease` says what it is worth to
    /// the one that waits.
    pub fn released(
        &mut self,
        ticket: Ticket,
        now: Timestamp,
        lease: impl FnOnce(&W) -> AtRelease,
    ) -> Handoff<W> {
        let Some((of, Doing::Holds(turn))) = &mut self.head else { return Handoff::Nothing };
        if *of != ticket {
            return Handoff::Nothing;
        }
        let Some(first) = self.waiting.first_entry() else {
            self.head = None;
            return Handoff::Nobody;
        };
        match turn.at_release(lease(first.get())) {
            Next::Pass(token) => Handoff::Lease(first.remove(), token),
            Next::Turn => self.leave(ticket, now),
        }
    }

    /// The task with this ticket wants the name no more, or the lease at the head is lost or nothing
    /// for those that wait.
    pub fn leave(&mut self, ticket: Ticket, now: Timestamp) -> Handoff<W> {
        if !self.is_head(ticket) {
            return self.waiting.remove(&ticket).map_or(Handoff::Nothing, Handoff::Gone);
        }
        let Some((ticket, waiter)) = self.waiting.pop_first() else {
            self.head = None;
            return Handoff::Nobody;
        };
        self.head = Some((ticket, Doing::Woken(now.saturating_add(self.window))));
        Handoff::Head(ticket, waiter)
    }

    /// It is `now`: the head goes on if its task was to do something by then.
    pub fn on_time(&mut self, now: Timestamp) -> Handoff<W> {
        match (self.head, self.due()) {
            (Some((ticket, _)), Some(due)) if now >= due && kept(Rule::UntakenGoesOn) => {
                self.leave(ticket, now)
            }
            _ => Handoff::Nothing,
        }
    }

    /// When to look again whether the head goes on.
    #[must_use]
    pub fn due(&self) -> Option<Timestamp> {
        match self.head?.1 {
            Doing::Woken(due) => Some(due),
            Doing::Asks(due) => due,
            Doing::Holds(_) => None,
        }
    }

    /// Whether this ticket is the head's.
    #[must_use]
    pub fn is_head(&self, ticket: Ticket) -> bool {
        self.at_head(ticket).is_some()
    }

    /// How many wait here; those before `ticket` if one is given.
    #[must_use]
    pub fn waiting(&self, before: Option<Ticket>) -> usize {
        before.map_or(self.waiting.len(), |ticket| self.waiting.range(..ticket).count())
    }

    fn at_head(&self, ticket: Ticket) -> Option<Doing> {
        self.head.and_then(|(of, doing)| (of == ticket).then_some(doing))
    }

    fn ticket(&mut self) -> Ticket {
        let ticket = self.next;
        self.next.number += 1;
        ticket
    }
}
