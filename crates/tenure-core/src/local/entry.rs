//! The state of one name in this process.

use std::{sync::Weak, time::Duration};

use tenure_proto::{Timestamp, local::LocalQueue, queue::Contender};

use super::{Transferable, Waiter};
use crate::engine::AgendaKey;

/// The queue of one name.
#[derive(Debug)]
pub(super) struct NameQueue<L: Transferable> {
    pub(super) queue: LocalQueue<Waiter<L>>,
    /// The lease of the name, if a task of this process holds it.
    pub(super) holder: Option<Weak<L>>,
    /// When the engine checks the queue.
    pub(super) on_time: Option<AgendaKey>,
    /// State that most names do not have.
    rare: Option<Box<QueueExtras<L>>>,
}

/// The state of a name for which other contenders were found.
#[derive(Debug)]
struct QueueExtras<L: Transferable> {
    /// State that moves with the head.
    pub(super) along: L::HandoverState,
    /// The holder that the store named, if no task of this process holds the name.
    pub(super) seen: Option<Contender>,
}

impl<L: Transferable> NameQueue<L> {
    /// An empty queue, in which a task has `window` to take what it is handed.
    pub(super) fn new(window: Duration) -> Self {
        Self { queue: LocalQueue::new(window), holder: None, on_time: None, rare: None }
    }

    /// Changes the state that moves with the head.
    pub(super) fn with_handover_state<T>(
        &mut self,
        work: impl FnOnce(&mut L::HandoverState) -> T,
    ) -> T {
        work(&mut self.rare().along)
    }

    /// When the engine must check the queue.
    pub(super) fn next_check(&self) -> Option<Timestamp> {
        self.queue.due(self.rare.is_some())
    }

    /// Records that the store named `holder`.
    pub(super) fn record_holder(&mut self, holder: Option<Contender>) {
        if holder.is_some() || self.rare.is_some() {
            self.rare().seen = holder;
        }
    }

    pub(super) fn last_holder(&self) -> Option<&Contender> {
        self.rare.as_ref()?.seen.as_ref()
    }

    fn rare(&mut self) -> &mut QueueExtras<L> {
        self.rare.get_or_insert_with(|| {
            Box::new(QueueExtras { along: L::HandoverState::default(), seen: None })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::NameQueue;
    use crate::{acquisition::lease::Lease, engine::Job};

    #[test]
    fn a_process_can_have_a_hundred_thousand_of_them() {
        let (entry, job) = (size_of::<NameQueue<Lease>>(), size_of::<Job>());
        assert!(entry <= 72 && job <= 16, "an entry takes {entry} bytes, a job {job}");
    }
}
