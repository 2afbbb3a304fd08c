//! What is known of one name in this process.

use std::{sync::Weak, time::Duration};

use tenure_proto::{Timestamp, local::LocalQueue, queue::Contender};

use super::{Transferable, Waiter};
use crate::engine::AgendaKey;

/// The queue of one name.
#[derive(Debug)]
pub(super) struct NameQueue<L: Transferable> {
    pub(super) queue: LocalQueue<Waiter<L>>,
    /// By what the name is held, if a task of this process does.
    pub(super) holder: Option<Weak<L>>,
    /// When the engine looks at it.
    pub(super) on_time: Option<AgendaKey>,
    /// What most names do not have.
    rare: Option<Box<QueueExtras<L>>>,
}

/// What a name has that others were met at.
#[derive(Debug)]
struct QueueExtras<L: Transferable> {
    /// What goes along with the head.
    pub(super) along: L::HandoverState,
    /// Whom the store named as holder, if no task of this process is.
    pub(super) seen: Option<Contender>,
}

impl<L: Transferable> NameQueue<L> {
    /// An empty queue, whose tasks have as long as `window` to take what they are handed.
    pub(super) fn new(window: Duration) -> Self {
        Self { queue: LocalQueue::new(window), holder: None, on_time: None, rare: None }
    }

    /// Does something with what goes along with the head.
    pub(super) fn along<T>(&mut self, work: impl FnOnce(&mut L::HandoverState) -> T) -> T {
        work(&mut self.rare().along)
    }

    /// When the engine is to look at it.
    pub(super) fn due(&self) -> Option<Timestamp> {
        self.queue.due(self.rare.is_some())
    }

    /// The store says that `holder` has the name.
    pub(super) fn saw(&mut self, holder: Option<Contender>) {
        if holder.is_some() || self.rare.is_some() {
            self.rare().seen = holder;
        }
    }

    pub(super) fn seen(&self) -> Option<&Contender> {
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
