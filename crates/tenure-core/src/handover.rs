//! Local hand-over: the tasks of one process that want the same name queue here, and one of them
//! stands in the store's queue for all (promise S8).
//!
//! Who may ask the store for a name on behalf of the process has its [`Lead`]. It is passed on
//! from task to task, with whatever comes along: a place in the store's queue, a lease that is to
//! be let go, or inside a guard the lease itself. Dropping it anywhere passes it on.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tenure_proto::Terms;
use tokio::sync::oneshot;

use crate::{LockName, departure::Departure, guard::Guard, lease::Lease, ticket::Ticket};

/// The local queues, one for each name that this process holds or wants. The slots of the roster
/// bound how many wait.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seats {
    lines: Arc<Mutex<HashMap<LockName, VecDeque<Waiter>>>>,
}

/// A task that waits behind another of its process.
#[derive(Debug)]
pub(crate) struct Waiter {
    pub(crate) terms: Terms,
    pub(crate) hold_at_least: Duration,
    sender: oneshot::Sender<Baton>,
}

/// What a waiting task receives when its turn has come.
#[derive(Debug)]
pub(crate) enum Baton {
    /// The right to ask the store.
    Lead(Lead),
    /// The lease itself.
    Guard(Guard),
}

/// Where a task stands in its process.
pub(crate) enum Joined {
    /// Nobody else here has or wants the name.
    First(Lead),
    /// Others come first.
    Behind(oneshot::Receiver<Baton>),
}

/// The right to ask the store for a name on behalf of this process.
#[derive(Debug)]
pub(crate) struct Lead {
    seats: Seats,
    name: LockName,
    /// An acquisition that another task began, with its place in the store's queue.
    pub(crate) ticket: Option<Box<Ticket>>,
    /// A lease that is to be let go in the same step.
    pub(crate) departure: Option<Box<Departure>>,
    passed_on: bool,
}

impl Seats {
    /// Queues for `name` in this process.
    pub(crate) fn join(&self, name: &LockName, terms: Terms, hold_at_least: Duration) -> Joined {
        let mut lines = self.lock();
        let Some(line) = lines.get_mut(name) else {
            lines.insert(name.clone(), VecDeque::new());
            return Joined::First(self.lead(name));
        };
        let (sender, receiver) = oneshot::channel();
        // Those that gave up are swept out before the line would have to grow for them.
        if line.len() == line.capacity() {
            line.retain(|waiter| !waiter.sender.is_closed());
        }
        line.push_back(Waiter { terms, hold_at_least, sender });
        Joined::Behind(receiver)
    }

    /// The lead, if nobody in this process has or wants the name.
    pub(crate) fn join_if_free(&self, name: &LockName) -> Option<Lead> {
        let mut lines = self.lock();
        if lines.contains_key(name) {
            return None;
        }
        lines.insert(name.clone(), VecDeque::new());
        Some(self.lead(name))
    }

    fn lead(&self, name: &LockName) -> Lead {
        Lead {
            seats: self.clone(),
            name: name.clone(),
            ticket: None,
            departure: None,
            passed_on: false,
        }
    }

    /// The next who still waits; without one the name is nobody's in this process any more.
    fn next(&self, name: &LockName) -> Option<Waiter> {
        let mut lines = self.lock();
        let line = lines.get_mut(name)?;
        while let Some(waiter) = line.pop_front() {
            if !waiter.sender.is_closed() {
                return Some(waiter);
            }
        }
        lines.remove(name);
        None
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<LockName, VecDeque<Waiter>>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lead {
    /// Gives a lease whose hold ended to the next task that waits here, or lets that task ask the
    /// store for its turn; `false` if nobody waits, and then the name is nobody's in this process.
    pub(crate) fn hand_over(mut self, lease: &Arc<Lease>) -> bool {
        loop {
            let Some(waiter) = self.seats.next(&self.name) else {
                self.passed_on = true;
                return false;
            };
            match lease.pass_to(&waiter, self) {
                Ok(generation) => {
                    let guard = Guard::new(lease.clone(), generation);
                    let Err(Baton::Guard(unwanted)) = waiter.sender.send(Baton::Guard(guard))
                    else {
                        return true;
                    };
                    unwanted.forget();
                    // It was put there a moment ago, and only a loss takes it away, which passes
                    // it on as well.
                    let Some(lead) = lease.take_lead() else { return true };
                    self = lead;
                }
                Err(lead) => {
                    // If the task is gone, dropping the lead finds the next one.
                    drop(waiter.sender.send(Baton::Lead(lead)));
                    return true;
                }
            }
        }
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        if self.passed_on {
            return;
        }
        self.passed_on = true;
        while let Some(waiter) = self.seats.next(&self.name) {
            let lead = Self {
                seats: self.seats.clone(),
                name: self.name.clone(),
                ticket: self.ticket.take(),
                departure: self.departure.take(),
                passed_on: false,
            };
            let Err(Baton::Lead(mut unwanted)) = waiter.sender.send(Baton::Lead(lead)) else {
                return;
            };
            unwanted.passed_on = true;
            self.ticket = unwanted.ticket.take();
            self.departure = unwanted.departure.take();
        }
        // Nobody waits: what is left of the ticket and the departure goes to the engine.
    }
}
