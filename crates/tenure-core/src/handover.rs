//! Local hand-over: the tasks of one process that want the same name queue here, and one of them
//! stands in the store's queue for all (promise S8).
//!
//! Who may ask the store for a name on behalf of the process has its [`Lead`]. It is passed on
//! from task to task with its cargo; dropping it anywhere passes it on.
//!
//! What a task is handed it has to take within a claim window: futures are not always polled, and
//! one that waits beside others in its task may not be for long.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use tenure_proto::queue::Contender;
use tokio::sync::oneshot;

use crate::{
    LockName,
    context::Context,
    lease::{Cargo, Held, Lease},
    offer::Offer,
    options::{Busy, Wants},
};

type Lines = HashMap<LockName, Line>;

/// The local queues, one for each name that this process holds or wants. The slots bound how many
/// wait.
#[derive(Clone, Debug)]
pub(crate) struct Seats(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    context: Arc<Context>,
    lines: Mutex<Lines>,
}

/// The tasks that wait for one name.
#[derive(Debug, Default)]
struct Line {
    waiting: VecDeque<Waiter>,
    joined: u64,
    /// What the name is held by, if a task of this process does.
    lease: Weak<Lease>,
    /// Whom the store named as holder, if none does.
    seen: Option<Contender>,
}

/// A task that waits behind another of its process.
#[derive(Debug)]
pub(crate) struct Waiter {
    pub(crate) wants: Wants,
    number: u64,
    sender: oneshot::Sender<Baton>,
}

/// What a waiting task receives when its turn has come.
#[derive(Debug)]
pub(crate) enum Baton {
    /// The right to ask the store.
    Lead(Offer),
    /// What it waited for, if it takes it in time.
    Given(Held),
}

/// Where a task stands in its process.
pub(crate) enum Joined {
    /// Nobody else here has or wants the name.
    First(Lead),
    /// Others come first. The number is for [`Seats::in_the_way`].
    Behind(u64, oneshot::Receiver<Baton>),
}

/// The right to ask the store for a name on behalf of this process.
#[derive(Debug)]
pub(crate) struct Lead {
    seats: Seats,
    name: LockName,
    /// What goes along to the next task.
    pub(crate) cargo: Cargo,
    retired: bool,
}

impl Seats {
    pub(crate) fn new(context: &Arc<Context>) -> Self {
        Self(Arc::new(Inner { context: context.clone(), lines: Mutex::default() }))
    }

    /// Queues for `name` in this process.
    pub(crate) fn join(&self, name: &LockName, wants: Wants) -> Joined {
        let mut lines = self.lock();
        let Some(line) = lines.get_mut(name) else {
            lines.insert(name.clone(), Line::default());
            return Joined::First(self.lead(name));
        };
        let (sender, receiver) = oneshot::channel();
        // Those that gave up are swept out before the line would have to grow for them.
        if line.waiting.len() == line.waiting.capacity() {
            line.waiting.retain(|waiter| !waiter.sender.is_closed());
        }
        let number = line.joined;
        line.joined += 1;
        line.waiting.push_back(Waiter { wants, number, sender });
        Joined::Behind(number, receiver)
    }

    /// Who is in the way of the task that joined with `number`, in this process as far as it knows.
    pub(crate) fn in_the_way(&self, name: &LockName, number: u64) -> Busy {
        let mut busy = Busy { name: name.clone(), holder: None, ahead: 0, here: true };
        let lines = self.lock();
        let Some(line) = lines.get(name) else { return busy };
        let before = |waiter: &&Waiter| waiter.number < number && !waiter.sender.is_closed();
        let waiting = line.waiting.iter().filter(before).count();
        let (lease, seen) = (line.lease.upgrade(), line.seen.clone());
        // A lease has to do with the lines itself.
        drop(lines);
        busy.ahead = u32::try_from(waiting).unwrap_or(u32::MAX);
        busy.holder = lease.and_then(|lease| lease.contender());
        if busy.holder.is_none() {
            // Then the task that asks the store for all of them is ahead, too.
            busy.ahead = busy.ahead.saturating_add(1);
            busy.holder = seen;
            busy.here = busy.holder.is_none();
        }
        busy
    }

    /// The lead, if nobody in this process has or wants the name.
    pub(crate) fn join_if_free(&self, name: &LockName) -> Option<Lead> {
        let mut lines = self.lock();
        if lines.contains_key(name) {
            return None;
        }
        lines.insert(name.clone(), Line::default());
        Some(self.lead(name))
    }

    fn lead(&self, name: &LockName) -> Lead {
        Lead { seats: self.clone(), name: name.clone(), cargo: Cargo::default(), retired: false }
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.0.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiter {
    /// Gives the task what it waited for; back if the task is gone.
    pub(crate) fn give(self, given: Held) -> Result<(), Held> {
        match self.sender.send(Baton::Given(given)) {
            Err(Baton::Given(given)) => Err(given),
            Ok(()) | Err(Baton::Lead(_)) => Ok(()),
        }
    }

    /// Gives the task the lead. If the task is gone, the lead goes to the next.
    pub(crate) fn lead(self, lead: Lead) {
        let offer = Offer::new(&lead.seats.0.context.clone(), lead);
        drop(self.sender.send(Baton::Lead(offer)));
    }
}

impl Lead {
    /// The next task that still waits. Without one the name is nobody's in this process any more,
    /// and the lead ends with it: who comes then has another.
    pub(crate) fn next(&mut self) -> Option<Waiter> {
        let mut lines = self.seats.lock();
        let line = lines.get_mut(&self.name)?;
        while let Some(waiter) = line.waiting.pop_front() {
            if !waiter.sender.is_closed() {
                return Some(waiter);
            }
        }
        lines.remove(&self.name);
        self.retired = true;
        None
    }

    /// The name is held by `lease` from now on, which takes the lead.
    pub(crate) fn held_by(&self, lease: &Arc<Lease>) {
        if let Some(line) = self.seats.lock().get_mut(&self.name) {
            (line.lease, line.seen) = (Arc::downgrade(lease), None);
        }
    }

    /// The store says that `holder` has the name.
    pub(crate) fn saw(&self, holder: Option<Contender>) {
        if let Some(line) = self.seats.lock().get_mut(&self.name) {
            line.seen = holder;
        }
    }
}

impl Drop for Lead {
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
            let offer = Offer::new(&self.seats.0.context, lead);
            let Err(Baton::Lead(offer)) = waiter.sender.send(Baton::Lead(offer)) else { return };
            // Without it, the engine has let it go on already.
            let Some(mut unwanted) = offer.claim() else { return };
            unwanted.retired = true;
            self.cargo = std::mem::take(&mut unwanted.cargo);
        }
        // Nobody waits: the cargo is dropped.
    }
}
