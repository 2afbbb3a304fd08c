//! The tasks of this process that want the same name.
//!
//! They queue here, and the one at the head asks the store for all of them (promise
//! [S8](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s8-order)). [`tenure_proto::local`] decides
//! who is next. This module carries that out once the queues are unlocked.

mod entry;
mod head;
mod waiting;

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use tenure_proto::{
    Timestamp,
    local::{self, Handoff, Ticket},
    queue::Contender,
};
use tokio::sync::oneshot;

use self::entry::NameQueue;
pub(crate) use self::{
    head::{LockedQueues, QueueHead},
    waiting::LocalQueuePosition,
};
use crate::{
    context::StoreContext,
    engine::{Job, WakeOnDrop, WatchedQueues},
    name_use::NameUse,
    options::{Busy, HoldRequest},
};

/// A value that the tasks of a process hand over to each other: a lease.
pub(crate) trait Transferable: fmt::Debug + Send + Sync + Sized + 'static {
    /// A task's hold of it.
    type Hold: fmt::Debug + Send;
    /// State that moves with the head of a queue from task to task.
    type HandoverState: Default + fmt::Debug + Send;

    /// Its holder, as people may see it; `None` if it is over.
    fn contender(&self) -> Option<Contender>;
}

/// The queues of one [`Tenure`](crate::Tenure). Cloning is cheap. The slots limit the number of waiters.
#[derive(Debug)]
pub(crate) struct Queues<L: Transferable>(Arc<Inner<L>>);

#[derive(Debug)]
struct Inner<L: Transferable> {
    context: Arc<StoreContext>,
    names: Mutex<QueueMap<L>>,
    /// The number of tickets so far. Tickets are drawn while the names are locked, so that they rise in each queue.
    tickets: AtomicU64,
}

/// Boxed, because the table has room for twice as many.
type QueueMap<L> = HashMap<NameUse, Box<NameQueue<L>>>;

/// A task that waits behind others of its process.
#[derive(Debug)]
pub(crate) struct Waiter<L: Transferable> {
    pub(crate) request: HoldRequest,
    sender: oneshot::Sender<WaiterHandoff<L>>,
}

/// What a waiting task is handed.
#[derive(Debug)]
pub(crate) enum WaiterHandoff<L: Transferable> {
    /// The head of the queue, if the task takes it in time.
    Head,
    /// A hold of the lease, if the task takes it in time.
    Hold(L::Hold),
}

/// The position of a task in its process.
pub(crate) enum JoinOutcome<'a, L: Transferable> {
    /// No other task here has or wants the name.
    Head(QueueHead<L>),
    /// Others come first.
    Behind(LocalQueuePosition<'a, L>),
}

impl<L: Transferable> Clone for Queues<L> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<L: Transferable> Queues<L> {
    pub(crate) fn new(context: &Arc<StoreContext>) -> Self {
        Self(Arc::new(Inner {
            context: context.clone(),
            names: Mutex::default(),
            tickets: AtomicU64::new(0),
        }))
    }

    /// Queues for `name` in this process.
    pub(crate) fn join(&self, name: NameUse, request: &HoldRequest) -> JoinOutcome<'_, L> {
        let mut names = self.0.lock();
        let ticket = self.0.ticket();
        if self.0.entry(&mut names, &name).queue.join_if_empty(ticket) {
            drop(names);
            return JoinOutcome::Head(QueueHead::new(self, name, ticket, false));
        }
        let mut names = self.0.advance_overdue_head(names, &name);
        let mut receiver = None;
        let ticket = self.0.ticket();
        let entry = self.0.entry(&mut names, &name);
        let joined = entry.queue.join(ticket, || {
            let (sender, handed) = oneshot::channel();
            receiver = Some(handed);
            Waiter { request: request.clone(), sender }
        });
        // Until now, no task waited for the head to move on.
        let wakes = match joined {
            local::Joined::Behind => self.0.plan(entry, &name),
            local::Joined::Head => WakeOnDrop::default(),
        };
        drop(names);
        drop(wakes);
        match (joined, receiver) {
            (local::Joined::Behind, Some(receiver)) => {
                JoinOutcome::Behind(LocalQueuePosition::new(self, name, ticket, receiver))
            }
            (local::Joined::Behind | local::Joined::Head, _) => {
                JoinOutcome::Head(QueueHead::new(self, name, ticket, false))
            }
        }
    }

    /// The head of the queue, if no task of this process has or wants the name.
    pub(crate) fn join_if_empty(&self, name: NameUse) -> Option<QueueHead<L>> {
        let mut names = self.0.lock();
        let mut ticket = self.0.ticket();
        if !self.0.entry(&mut names, &name).queue.join_if_empty(ticket) {
            names = self.0.advance_overdue_head(names, &name);
            ticket = self.0.ticket();
            if !self.0.entry(&mut names, &name).queue.join_if_empty(ticket) {
                return None;
            }
        }
        Some(QueueHead::new(self, name, ticket, false))
    }

    /// The contenders in this process that are ahead of a task with this ticket, or of a task that did not join, as far
    /// as known.
    pub(crate) fn busy_state(&self, name: &NameUse, ticket: Option<Ticket>) -> Busy {
        let mut busy = Busy { name: name.name.clone(), holder: None, ahead: 0, here: true };
        let names = self.0.lock();
        let Some(entry) = names.get(name) else { return busy };
        let waiting = entry.queue.waiting(ticket);
        let (holder, seen) = (entry.holder.clone(), entry.last_holder().cloned());
        drop(names);
        busy.ahead = u32::try_from(waiting).unwrap_or(u32::MAX);
        busy.holder = holder.and_then(|holder| holder.upgrade()?.contender());
        if busy.holder.is_none() {
            // Then the task that asks the store for all of them is also ahead.
            busy.ahead = busy.ahead.saturating_add(1);
            busy.holder = seen;
            busy.here = busy.holder.is_none();
        }
        busy
    }

    fn inner(&self) -> &Arc<Inner<L>> {
        &self.0
    }
}

impl<L: Transferable> Inner<L> {
    fn entry<'a>(&self, names: &'a mut QueueMap<L>, name: &NameUse) -> &'a mut NameQueue<L> {
        // One look-up is enough, as most names are not there yet.
        names
            .entry(name.clone())
            .or_insert_with(|| Box::new(NameQueue::new(self.context.claim_window())))
    }

    /// The queues, after moving the head of this one on if its task is overdue. The engine does not check a queue in
    /// which no task waits.
    fn advance_overdue_head<'a>(
        self: &'a Arc<Self>,
        names: MutexGuard<'a, QueueMap<L>>,
        name: &NameUse,
    ) -> MutexGuard<'a, QueueMap<L>> {
        let due = names.get(name).and_then(|entry| entry.queue.due(true));
        let Some(due) = due else { return names };
        let now = self.context.now();
        if now < due {
            return names;
        }
        drop(names);
        self.clone().on_time(name, now);
        self.lock()
    }

    /// The task with this ticket no longer wants the name.
    fn leave(self: &Arc<Self>, name: &NameUse, ticket: Ticket) {
        // In a forked child, the queues may have been locked by a thread that the child does not
        // have.
        if self.context.is_forked() {
            return;
        }
        let now = self.context.now();
        let mut names = self.lock();
        let Some(entry) = names.get_mut(name) else { return };
        let handoff = entry.queue.leave(ticket, now);
        self.carry_out(names, name, handoff);
    }

    /// Carries out a decision: first in the queues, and then, with these unlocked, with the tasks.
    fn carry_out(
        self: &Arc<Self>,
        mut names: MutexGuard<'_, QueueMap<L>>,
        name: &NameUse,
        handoff: Handoff<Waiter<L>>,
    ) {
        match handoff {
            Handoff::Nobody => {
                let entry = names.remove(name);
                if let Some(key) = entry.as_ref().and_then(|entry| entry.on_time) {
                    self.context.agenda.cancel(key);
                }
                drop(names);
                // State that moves with its head may be taken back in the store.
                drop(entry);
            }
            Handoff::Head(_, waiter) => {
                let wakes = names.get_mut(name).map(|entry| self.plan(entry, name));
                drop(names);
                drop(wakes);
                waiter.wake();
            }
            Handoff::Gone(waiter) => {
                drop(names);
                drop(waiter);
            }
            Handoff::Lease(..) | Handoff::Nothing => {}
        }
    }

    /// Plans the engine's next check, when the head must have moved on.
    fn plan(self: &Arc<Self>, entry: &mut NameQueue<L>, name: &NameUse) -> WakeOnDrop<'_> {
        let due = entry.next_check();
        if entry.on_time.map(|(at, _)| at) == due {
            return WakeOnDrop::default();
        }
        if let Some(key) = entry.on_time.take() {
            self.context.agenda.cancel(key);
        }
        let Some(due) = due else { return WakeOnDrop::default() };
        let queues: Weak<dyn WatchedQueues> = Arc::<Self>::downgrade(self);
        let job = Job::check_queue(queues, name.clone());
        let (key, wakes) = self.context.agenda.schedule_quietly(due, job);
        entry.on_time = Some(key);
        wakes
    }

    fn ticket(&self) -> Ticket {
        Ticket::new(self.tickets.fetch_add(1, Ordering::Relaxed))
    }

    fn lock(&self) -> MutexGuard<'_, QueueMap<L>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<L: Transferable> WatchedQueues for Inner<L> {
    fn on_time(self: Arc<Self>, name: &NameUse, now: Timestamp) {
        let mut names = self.lock();
        let Some(entry) = names.get_mut(name) else { return };
        // A later check may be planned by now.
        entry.on_time = entry.on_time.filter(|(at, _)| *at > now);
        let handoff = entry.queue.on_time(now);
        self.carry_out(names, name, handoff);
    }
}

impl<L: Transferable> Waiter<L> {
    /// Hands the task a hold, and returns the hold if the task has just gone.
    pub(crate) fn try_hand_over(self, hold: L::Hold) -> Option<L::Hold> {
        match self.sender.send(WaiterHandoff::Hold(hold)) {
            Err(WaiterHandoff::Hold(hold)) => Some(hold),
            Ok(()) | Err(WaiterHandoff::Head) => None,
        }
    }

    /// Notifies the task that it is at the head. A task that has just gone leaves the queue on its own.
    fn wake(self) {
        drop(self.sender.send(WaiterHandoff::Head));
    }
}
