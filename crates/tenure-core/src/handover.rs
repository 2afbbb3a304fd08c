//! Local hand-over: the tasks of one process that want the same name queue here, and one of them
//! stands in the store's queue for all (promise S8).
//!
//! Who may ask the store for a name on behalf of the process has its [`Lead`]. It is passed on
//! from task to task with its cargo; dropping it anywhere passes it on.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tenure_proto::Terms;
use tokio::sync::oneshot;

use crate::LockName;

type Lines<C, G> = HashMap<LockName, VecDeque<Waiter<C, G>>>;

/// The local queues, one for each name that this process holds or wants. The slots of the roster
/// bound how many wait.
///
/// A lead has cargo of type `C`; `G` is what a task can be given instead of the lead.
#[derive(Debug)]
pub(crate) struct Seats<C: Default, G>(Arc<Mutex<Lines<C, G>>>);

/// What a waiting task wants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wants {
    pub(crate) terms: Terms,
    pub(crate) hold_at_least: Duration,
}

/// A task that waits behind another of its process.
#[derive(Debug)]
pub(crate) struct Waiter<C: Default, G> {
    pub(crate) wants: Wants,
    sender: oneshot::Sender<Baton<C, G>>,
}

/// What a waiting task receives when its turn has come.
#[derive(Debug)]
pub(crate) enum Baton<C: Default, G> {
    /// The right to ask the store.
    Lead(Lead<C, G>),
    /// What it waited for.
    Given(G),
}

/// Where a task stands in its process.
pub(crate) enum Joined<C: Default, G> {
    /// Nobody else here has or wants the name.
    First(Lead<C, G>),
    /// Others come first.
    Behind(oneshot::Receiver<Baton<C, G>>),
}

/// The right to ask the store for a name on behalf of this process.
#[derive(Debug)]
pub(crate) struct Lead<C: Default, G> {
    seats: Seats<C, G>,
    name: LockName,
    /// What goes along to the next task.
    pub(crate) cargo: C,
    retired: bool,
}

impl<C: Default, G> Clone for Seats<C, G> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<C: Default, G> Default for Seats<C, G> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<C: Default, G> Seats<C, G> {
    /// Queues for `name` in this process.
    pub(crate) fn join(&self, name: &LockName, wants: Wants) -> Joined<C, G> {
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
        line.push_back(Waiter { wants, sender });
        Joined::Behind(receiver)
    }

    /// The lead, if nobody in this process has or wants the name.
    pub(crate) fn join_if_free(&self, name: &LockName) -> Option<Lead<C, G>> {
        let mut lines = self.lock();
        if lines.contains_key(name) {
            return None;
        }
        lines.insert(name.clone(), VecDeque::new());
        Some(self.lead(name))
    }

    fn lead(&self, name: &LockName) -> Lead<C, G> {
        Lead { seats: self.clone(), name: name.clone(), cargo: C::default(), retired: false }
    }

    fn lock(&self) -> MutexGuard<'_, Lines<C, G>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Default, G> Waiter<C, G> {
    /// Gives the task what it waited for; back if the task is gone.
    pub(crate) fn give(self, given: G) -> Result<(), G> {
        match self.sender.send(Baton::Given(given)) {
            Err(Baton::Given(given)) => Err(given),
            Ok(()) | Err(Baton::Lead(_)) => Ok(()),
        }
    }

    /// Gives the task the lead. If the task is gone, the lead goes to the next.
    pub(crate) fn lead(self, lead: Lead<C, G>) {
        drop(self.sender.send(Baton::Lead(lead)));
    }
}

impl<C: Default, G> Lead<C, G> {
    /// The next task that still waits. Without one the name is nobody's in this process any more,
    /// and the lead is to be retired.
    pub(crate) fn next(&self) -> Option<Waiter<C, G>> {
        let mut lines = self.seats.lock();
        let line = lines.get_mut(&self.name)?;
        while let Some(waiter) = line.pop_front() {
            if !waiter.sender.is_closed() {
                return Some(waiter);
            }
        }
        lines.remove(&self.name);
        None
    }

    /// Ends the lead after [`Lead::next`] found nobody.
    pub(crate) fn retire(mut self) {
        self.retired = true;
    }
}

impl<C: Default, G> Drop for Lead<C, G> {
    fn drop(&mut self) {
        if self.retired {
            return;
        }
        while let Some(waiter) = self.next() {
            let lead = Self {
                seats: self.seats.clone(),
                name: self.name.clone(),
                cargo: std::mem::take(&mut self.cargo),
                retired: false,
            };
            let Err(Baton::Lead(mut unwanted)) = waiter.sender.send(Baton::Lead(lead)) else {
                return;
            };
            unwanted.retired = true;
            self.cargo = std::mem::take(&mut unwanted.cargo);
        }
        // Nobody waits: the cargo is dropped.
    }
}
