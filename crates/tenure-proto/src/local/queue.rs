//! The queue of one name inside one process.

use std::{collections::BTreeMap, time::Duration};

use super::turn::{AtRelease, Next, ProcessTurn};
use crate::{
    Timestamp, Token,
    rule::{Rule, kept},
    time::Nanos,
};

/// A task's number in its queue. The numbers are in the order of the queue, so each task that joins needs a greater
/// one. No other queue of the process may use the same number: a queue is forgotten when it is empty, and a ticket may
/// outlive it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

impl Ticket {
    /// Makes the ticket with this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }
}

/// The position of a task that joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// At the head: no other task here has or wants the name.
    Head,
    /// Behind other tasks.
    Behind,
}

/// Which task receives what another task leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handoff<W> {
    /// This task is the head from now on, and must ask the store.
    Head(Ticket, W),
    /// This task gets the lease, with this token.
    Lease(W, Token),
    /// No task waits: the queue is empty.
    Nobody,
    /// The task was only waiting. Contains what was known of it.
    Gone(W),
    /// There was nothing to hand over.
    Nothing,
}

/// The tasks of one process that want one name. `W` is what is known of a waiting task.
///
/// The task at the **head** communicates with the store for all: it asks, or it has the lease. What it leaves goes to
/// the task that has waited longest. A task that is woken has to take the head within a window, and a task that asks
/// has to continue within it. Otherwise the head goes to the next task: futures are not always polled, and no task
/// should wait for one that is not.
///
/// Every event names its ticket. An event about an earlier head changes nothing.
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
/// Most queues are for a name that one task holds without waiters, so they are kept small.
#[derive(Clone, Debug)]
pub struct LocalQueue<W> {
    window: Nanos,
    waiting: Option<Box<WaiterMap<W>>>,
    head: Option<(Ticket, HeadState)>,
}

/// The waiting tasks.
#[derive(Clone, Debug)]
struct WaiterMap<W>(BTreeMap<Ticket, W>);

/// The state of the head.
#[derive(Clone, Copy, Debug)]
enum HeadState {
    /// It was woken, and has to take the head by then.
    Woken(Timestamp),
    /// It is asking the store.
    Asks,
    /// It waits for an answer or for its next request, and has to continue by then.
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
    /// Makes an empty queue whose tasks have this long to take what they are handed.
    #[must_use]
    pub fn new(window: Duration) -> Self {
        Self { window: Nanos::of(window), waiting: None, head: None }
    }

    /// Adds the task with this ticket. `waiter` is called only if the task has to wait.
    pub fn join(&mut self, ticket: Ticket, waiter: impl FnOnce() -> W) -> Joined {
        if self.join_if_empty(ticket) {
            return Joined::Head;
        }
        self.waiting.get_or_insert_default().0.insert(ticket, waiter());
        Joined::Behind
    }

    /// Adds the task with this ticket if no other task here has or wants the name. Returns `false` otherwise.
    #[must_use]
    pub fn join_if_empty(&mut self, ticket: Ticket) -> bool {
        let empty = self.head.is_none();
        if empty {
            self.head = Some((ticket, HeadState::Asks));
        }
        empty
    }

    /// Takes the head for a task that was woken. Returns `false` if the head has gone to another task.
    #[must_use]
    pub fn take(&mut self, ticket: Ticket) -> bool {
        let taken = matches!(self.at_head(ticket), Some(HeadState::Woken(_)));
        if taken {
            self.head = Some((ticket, HeadState::Asks));
        }
        taken
    }

    /// Records that the head waits for an answer or for its next request, and continues at `until` at the latest.
    pub fn waits(&mut self, ticket: Ticket, until: Timestamp) {
        if matches!(self.at_head(ticket), Some(HeadState::Asks | HeadState::Waits(_))) {
            let due = until.saturating_add(self.window.get());
            self.head = Some((ticket, HeadState::Waits(due)));
        }
    }

    /// Records that the store granted the lease to the task with this ticket. If that is the head, the lease is here
    /// from now on, whichever task receives it. Otherwise returns `false`: the grant does not concern this queue.
    #[must_use]
    pub fn granted(&mut self, ticket: Ticket, now: Timestamp) -> bool {
        let is_head = self.is_head(ticket);
        if is_head {
            self.head = Some((ticket, HeadState::Holds(ProcessTurn::begin(now))));
        }
        is_head
    }

    /// Releases the lease at the head for its task. `lease` says what it is worth to the waiting task.
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
        match turn.decide_pass(lease(first.get())) {
            Next::Pass(token) => {
                self.head = Some((ticket, HeadState::Holds(turn)));
                Handoff::Lease(first.remove(), token)
            }
            Next::Turn => self.leave(ticket, now),
        }
    }

    /// Removes the task with this ticket: it no longer wants the name, or the lease at the head is lost or of no use to
    /// the waiting tasks.
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

    /// Advances the time to `now`: the head goes on if its task missed its time.
    pub fn on_time(&mut self, now: Timestamp) -> Handoff<W> {
        match (self.head, self.due(true)) {
            (Some((ticket, _)), Some(due)) if now >= due && kept(Rule::UntakenGoesOn) => {
                self.leave(ticket, now)
            }
            _ => Handoff::Nothing,
        }
    }

    /// Returns when to check again whether the head goes on. While no task waits behind it and it `carries` nothing
    /// that has to be released, this does not matter, and most queues need no check.
    #[must_use]
    pub fn due(&self, carries: bool) -> Option<Timestamp> {
        match self.head?.1 {
            HeadState::Waits(_) if !carries && self.waiting(None) == 0 => None,
            HeadState::Woken(due) | HeadState::Waits(due) => Some(due),
            HeadState::Asks | HeadState::Holds(_) => None,
        }
    }

    /// Returns whether this ticket is the head's.
    #[must_use]
    pub fn is_head(&self, ticket: Ticket) -> bool {
        self.at_head(ticket).is_some()
    }

    /// Returns how many tasks wait here, or those before `ticket` if it is given.
    #[must_use]
    pub fn waiting(&self, before: Option<Ticket>) -> usize {
        let Some(WaiterMap(line)) = self.waiting.as_deref() else { return 0 };
        before.map_or(line.len(), |ticket| line.range(..ticket).count())
    }

    fn at_head(&self, ticket: Ticket) -> Option<HeadState> {
        self.head.and_then(|(of, doing)| (of == ticket).then_some(doing))
    }
}
