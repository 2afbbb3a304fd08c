//! The head of a queue: the task or lease that asks the store for the process.

use std::{
    fmt,
    sync::{
        MutexGuard, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use tenure_proto::{
    Timestamp,
    local::{Handoff, Ticket, turn::AtRelease},
    queue::Contender,
};

use super::{NameQueue, QueueMap, Queues, Transferable, Waiter};
use crate::{name_use::NameUse, options::HoldRequest};

/// The head of the queue of one name, in a task or a lease. Dropping it leaves the queue.
///
/// The head may have passed to another task. Each method notices that, and then changes nothing.
pub(crate) struct QueueHead<L: Transferable> {
    queues: Queues<L>,
    name: NameUse,
    ticket: Ticket,
    /// Whether state may have come with it from another task.
    came_along: bool,
    /// Whether it has left the queue, so that it need not be searched for again.
    left: AtomicBool,
}

impl<L: Transferable> QueueHead<L> {
    pub(super) fn new(queues: &Queues<L>, name: NameUse, ticket: Ticket, came_along: bool) -> Self {
        let left = AtomicBool::new(false);
        Self { queues: queues.clone(), name, ticket, came_along, left }
    }

    /// The name of the queue.
    pub(crate) fn name(&self) -> &NameUse {
        &self.name
    }

    /// Takes a part of the state that came with the head from another task, if it is still the head.
    pub(crate) fn take_handover<T>(
        &self,
        take: impl FnOnce(&mut L::HandoverState) -> Option<T>,
    ) -> Option<T> {
        if self.came_along { self.with_handover_state(take).flatten() } else { None }
    }

    /// Records that its task waits for an answer or for its next request, and continues at `until` at the latest. The
    /// future may no longer be polled, and then the others must not wait for it.
    pub(crate) fn record_wait(&self, until: Timestamp) {
        let inner = self.queues.inner();
        let mut names = inner.lock();
        let Some(entry) = names.get_mut(&self.name) else { return };
        entry.queue.waits(self.ticket, until);
        let wakes = inner.plan(entry, &self.name);
        drop(names);
        drop(wakes);
    }

    /// Changes the state that moves with the head, if it is still the head.
    pub(crate) fn with_handover_state<T>(
        &self,
        work: impl FnOnce(&mut L::HandoverState) -> T,
    ) -> Option<T> {
        self.entry(|entry| entry.with_handover_state(work))
    }

    /// Records that the store named `holder`.
    pub(crate) fn record_holder(&self, holder: Option<Contender>) {
        self.entry(|entry| entry.record_holder(holder));
    }

    /// Records that `lease` holds the name from `now` on. It has the head then, if this is still the head.
    pub(crate) fn record_grant(&self, lease: Weak<L>, now: Timestamp) {
        let inner = self.queues.inner();
        let mut names = inner.lock();
        let Some(entry) = names.get_mut(&self.name) else { return };
        if entry.queue.granted(self.ticket, now) {
            entry.holder = Some(lease);
            entry.record_holder(None);
            // The task no longer waits, so the engine need not check sooner.
            drop(inner.plan(entry, &self.name));
        }
    }

    /// Leaves the queue. State that moves with the head goes to the next task, or is dropped.
    pub(crate) fn leave(&self) {
        if !self.left.swap(true, Ordering::Relaxed) {
            self.queues.inner().leave(&self.name, self.ticket);
        }
    }

    /// Locks the queues to release the lease at the head; `None` if this is no longer the head.
    pub(crate) fn lock(&self) -> Option<LockedQueues<'_, L>> {
        let names = self.queues.inner().lock();
        let entry = names.get(&self.name)?;
        entry.queue.is_head(self.ticket).then_some(LockedQueues { head: self, names })
    }

    fn entry<T>(&self, work: impl FnOnce(&mut NameQueue<L>) -> T) -> Option<T> {
        let mut names = self.queues.inner().lock();
        let entry = names.get_mut(&self.name)?;
        if entry.queue.is_head(self.ticket) {
            return Some(work(entry));
        }
        // Values that `work` owns are dropped when nothing is locked.
        drop(names);
        None
    }
}

impl<L: Transferable> Drop for QueueHead<L> {
    fn drop(&mut self) {
        self.leave();
    }
}

impl<L: Transferable> fmt::Debug for QueueHead<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueHead").field("name", &self.name).field("ticket", &self.ticket).finish()
    }
}

/// The queues while a lease at the head is released. Lock them before the lease, never after it.
pub(crate) struct LockedQueues<'a, L: Transferable> {
    head: &'a QueueHead<L>,
    names: MutexGuard<'a, QueueMap<L>>,
}

impl<L: Transferable> LockedQueues<'_, L> {
    /// Decides which task gets the lease, or the head. `lease` says what the lease offers to a waiter.
    pub(crate) fn decide_release(
        &mut self,
        now: Timestamp,
        lease: impl FnOnce(&HoldRequest) -> AtRelease,
    ) -> Handoff<Waiter<L>> {
        let ticket = self.head.ticket;
        self.entry().map_or(Handoff::Nothing, |entry| {
            entry.queue.released(ticket, now, |waiter| lease(&waiter.request))
        })
    }

    /// Decides which task gets the head, without the lease.
    pub(crate) fn decide_leave(&mut self, now: Timestamp) -> Handoff<Waiter<L>> {
        let ticket = self.head.ticket;
        self.entry().map_or(Handoff::Nothing, |entry| entry.queue.leave(ticket, now))
    }

    /// Changes the state that moves with the head.
    pub(crate) fn with_handover_state(&mut self, work: impl FnOnce(&mut L::HandoverState)) {
        if let Some(entry) = self.entry() {
            entry.with_handover_state(work);
        }
    }

    /// Unlocks the queues, and then carries out the decision about the head, which has left.
    pub(crate) fn carry_out(self, handoff: Handoff<Waiter<L>>) {
        self.head.left.store(true, Ordering::Relaxed);
        self.head.queues.inner().carry_out(self.names, &self.head.name, handoff);
    }

    fn entry(&mut self) -> Option<&mut NameQueue<L>> {
        self.names.get_mut(&self.head.name).map(|entry| &mut **entry)
    }
}
