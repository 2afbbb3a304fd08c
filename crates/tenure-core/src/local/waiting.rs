//! A task that waits behind others of its process.

use tenure_proto::local::Ticket;
use tokio::sync::oneshot;

use super::{QueueHead, Queues, Transferable, WaiterHandoff};
use crate::{name_use::NameUse, options::Busy};

/// The position of a task in the queue of its process. Dropping it leaves the queue.
pub(crate) struct LocalQueuePosition<'a, L: Transferable> {
    queues: &'a Queues<L>,
    name: NameUse,
    /// `None` once it has the head, or a hold.
    ticket: Option<Ticket>,
    handed: oneshot::Receiver<WaiterHandoff<L>>,
}

impl<'a, L: Transferable> LocalQueuePosition<'a, L> {
    pub(super) fn new(
        queues: &'a Queues<L>,
        name: NameUse,
        ticket: Ticket,
        handed: oneshot::Receiver<WaiterHandoff<L>>,
    ) -> Self {
        Self { queues, name, ticket: Some(ticket), handed }
    }

    /// Waits for what the task is handed; `None` if no other part can hand it anything any more. Cancel-safe.
    pub(crate) async fn wait_for_handoff(&mut self) -> Option<WaiterHandoff<L>> {
        let handed = (&mut self.handed).await.ok();
        if let Some(WaiterHandoff::Hold(_)) = handed {
            // With that, it has left the queue.
            self.ticket = None;
        }
        handed
    }

    /// Takes the head that the task was handed, unless it has passed to another task.
    pub(crate) fn take(mut self) -> Option<QueueHead<L>> {
        let ticket = self.ticket?;
        let mut names = self.queues.inner().lock();
        let entry = names.get_mut(&self.name)?;
        if !entry.queue.take(ticket) {
            return None;
        }
        let wakes = self.queues.inner().plan(entry, &self.name);
        drop(names);
        drop(wakes);
        self.ticket = None;
        Some(QueueHead::new(self.queues, self.name.clone(), ticket, true))
    }

    /// The contenders in this process that are ahead of it, as far as known.
    pub(crate) fn in_the_way(&self) -> Busy {
        self.queues.busy_state(&self.name, self.ticket)
    }
}

impl<L: Transferable> Drop for LocalQueuePosition<'_, L> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.queues.inner().leave(&self.name, ticket);
        }
    }
}
