//! The queue of one name inside one process.

use std::{collections::BTreeMap, time::Duration};

use super::turn::{AtRelease, Next, ProcessTurn};
use crate::{
    Timestamp, Token,
    rule::{Rule, kept},
    time::Nanos,
};

/// A task's number in its queue. Their order is that of the queue, so each that joins brings a greater one,
/// and one that no other queue of the process was brought: a queue is forgotten when it is empty, and a
/// ticket may outlive it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

impl Ticket {
    /// The ticket with this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }
}

/// Where a task stands that joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// At the head: nobody else here has or wants the name.
    Head,
    /// Behind others.
    Behind,
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
/// use tenure_proto::{Timestamp, local::{Handoff, Joined, LocalQueue, Ticket}};
///
/// let now = Timestamp::ZERO;
/// let (first, second) = (Ticket::new(1), Ticket::new(2));
/// let mut queue = LocalQueue::new(Duration::from_millis(500));
/// assert_eq!(queue.join(first, || "never waits"), Joined::Head);
/// assert_eq!(queue.join(second, || "second"), Joined::Behind);
/// assert_eq!(queue.leave(first, now), Handoff::Head(second, "second"));
/// assert!(queue.take(second));
/// assert_eq!(queue.leave(second, now), Handoff::Nobody);
/// ```
///
/// Most queues are those of names that one task holds and nobody waits for, so these are kept small.
#[derive(Clone, Debug)]
pub struct LocalQueue<W> {
    window: Nanos,
    waiting: Option<Box<WaiterMap<W>>>,
    head: Option<(Ticket, HeadState)>,
}

/// Those that wait.
#[derive(Clone, Debug)]
struct WaiterMap<W>(BTreeMap<Ticket, W>);

/// What the head is doing.
#[derive(Clone, Copy, Debug)]
enum HeadState {
    /// It was woken, and has to take it by then.
    Woken(Timestamp),
    /// It asks the store.
    Asks,
    /// It waits for an answer or for its next ask, and has to go on by then.
    Waits(Timestamp),
    /// It has the lease.
    Holds(ProcessTurn),
}

impl<W> Default for WaiterMap<W> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<W> LocalQueue<W> {
    /// An empty queue whose tasks have this long to take what they are handed.
    #[must_use]
    pub fn new(window: Duration) -> Self {
        Self { window: Nanos::of(window), waiting: None, head: None }
    }

    /// The task with this ticket wants the name. What is known of it is only needed if it has to wait.
    pub fn join(&mut self, ticket: Ticket, waiter: impl FnOnce() -> W) -> Joined {
        if self.join_if_empty(ticket) {
            return Joined::Head;
        }
        self.waiting.get_or_insert_default().0.insert(ticket, waiter());
        Joined::Behind
    }

    /// The task with this ticket wants the name if nobody else here has or wants it; `false` if somebody
    /// does.
    #[must_use]
    pub fn join_if_empty(&mut self, ticket: Ticket) -> bool {
        let empty = self.head.is_none();
        if empty {
            self.head = Some((ticket, HeadState::Asks));
        }
        empty
    }

    /// A task that was woken takes the head; `false` if that has gone on to another.
    #[must_use]
    pub fn take(&mut self, ticket: Ticket) -> bool {
        let taken = matches!(self.at_head(ticket), Some(HeadState::Woken(_)));
        if taken {
            self.head = Some((ticket, HeadState::Asks));
        }
        taken
    }

    /// The head waits for an answer or for its next ask, and goes on at `until` at the latest.
    pub fn waits(&mut self, ticket: Ticket, until: Timestamp) {
        if matches!(self.at_head(ticket), Some(HeadState::Asks | HeadState::Waits(_))) {
            let due = until.saturating_add(self.window.get());
            self.head = Some((ticket, HeadState::Waits(due)));
        }
    }

    /// The store granted the lease to the task with this ticket. If that is the head, the lease is
    /// there from now on, whichever task it goes to; else `false`, and it is no business of this
    /// queue.
    #[must_use]
    pub fn granted(&mut self, ticket: Ticket, now: Timestamp) -> bool {
        let is_head = self.is_head(ticket);
        if is_head {
            self.head = Some((ticket, HeadState::Holds(ProcessTurn::begin(now))));
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
        let Some(HeadState::Holds(mut turn)) = self.at_head(ticket) else {
            return Handoff::Nothing;
        };
        let Some(first) = self.waiting.as_mut().and_then(|line| line.0.first_entry()) else {
            self.head = None;
            return Handoff::Nobody;
        };
        match turn.at_release(lease(first.get())) {
            Next::Pass(token) => {
                self.head = Some((ticket, HeadState::Holds(turn)));
                Handoff::Lease(first.remove(), token)
            }
            Next::Turn => self.leave(ticket, now),
        }
    }

    /// The task with this ticket wants the name no more, or the lease at the head is lost or nothing
    /// for those that wait.
    pub fn leave(&mut self, ticket: Ticket, now: Timestamp) -> Handoff<W> {
        if !self.is_head(ticket) {
            let gone = self.waiting.as_mut().and_then(|line| line.0.remove(&ticket));
            return gone.map_or(Handoff::Nothing, Handoff::Gone);
        }
        let Some((ticket, waiter)) = self.waiting.as_mut().and_then(|line| line.0.pop_first())
        else {
            self.head = None;
            return Handoff::Nobody;
        };
        let due = now.saturating_add(self.window.get());
        self.head = Some((ticket, HeadState::Woken(due)));
        Handoff::Head(ticket, waiter)
    }

    /// It is `now`: the head goes on if its task was to do something by then.
    pub fn on_time(&mut self, now: Timestamp) -> Handoff<W> {
        match (self.head, self.due(true)) {
            (Some((ticket, _)), Some(due)) if now >= due && kept(Rule::UntakenGoesOn) => {
                self.leave(ticket, now)
            }
            _ => Handoff::Nothing,
        }
    }

    /// When to look again whether the head goes on. While nobody waits behind it and it `carries` nothing that
    /// has to be let go of, whether it does is nobody's business, and most queues need no look.
    #[must_use]
    pub fn due(&self, carries: bool) -> Option<Timestamp> {
        match self.head?.1 {
            HeadState::Waits(_) if !carries && self.waiting(None) == 0 => None,
            HeadState::Woken(due) | HeadState::Waits(due) => Some(due),
            HeadState::Asks | HeadState::Holds(_) => None,
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
        let Some(WaiterMap(line)) = self.waiting.as_deref() else { return 0 };
        before.map_or(line.len(), |ticket| line.range(..ticket).count())
    }

    fn at_head(&self, ticket: Ticket) -> Option<HeadState> {
        self.head.and_then(|(of, doing)| (of == ticket).then_some(doing))
    }
}
