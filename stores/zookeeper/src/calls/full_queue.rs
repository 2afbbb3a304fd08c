//! Whether a line has room: who comes where others were just refused looks before a node is made.

use std::time::Duration;

use tenure_core::{Clock, Fault, SystemClock, Timestamp, proto::queue::Kind};

use crate::{
    calls::asking::PendingAsk,
    contenders::{node::NodePrefix, queue::ContenderQueue},
    error,
};

/// How long the number of a directory's children tells how many wait there, once these were seen to be contenders.
const COUNTS: Duration = Duration::from_secs(1);

impl PendingAsk<'_> {
    /// Refuses one who has no place yet, without making a node, where others were refused a moment ago and the line is
    /// still full.
    pub(crate) async fn refuse_if_full(&self) -> Result<(), Fault> {
        let (dir, kind) = (self.place.queue(self.base), self.base.kind());
        let queues = &self.shared.full;
        let Some(queue) = queues.remembered(&dir, kind, SystemClock.now()) else { return Ok(()) };
        let waiting = self.count(&dir, queue.counts_until).await?;
        if waiting.is_none_or(|waiting| waiting < self.shared.options.max_waiters) {
            return Ok(());
        }
        queues.remember(&dir, kind, SystemClock.now());
        Err(error::full(self.shared.options.max_waiters))
    }

    /// Takes the place back of one who found the line full.
    pub(crate) async fn refuse_full(&self) -> Fault {
        self.shared.full.remember(
            &self.place.queue(self.base),
            self.base.kind(),
            SystemClock.now(),
        );
        match self.shared.delete_owner_nodes(self.session, &self.ask.owner).await {
            Ok(()) => error::full(self.shared.options.max_waiters),
            Err(fault) => fault,
        }
    }

    /// How many wait, by the number of children where that tells it. `None` where the line is another than was
    /// remembered: whatever is to be said is said by a place in it.
    async fn count(&self, dir: &str, counts_until: Timestamp) -> Result<Option<usize>, Fault> {
        let Some(stat) = self.session.stat(dir).await? else { return Ok(None) };
        let children = usize::try_from(stat.num_children).unwrap_or(0);
        let now = SystemClock.now();
        if now < counts_until {
            let holders = usize::from(self.base != NodePrefix::Lease);
            return Ok(Some(children.saturating_sub(holders)));
        }
        let queue = self.list_only(dir).await?;
        // The inner mutex of a semaphore is a mutex.
        let kind = if self.base == NodePrefix::Lease { Kind::Mutex } else { self.base.kind() };
        if !queue.unknown().is_empty() || queue.other_than(kind).is_some() {
            return Ok(None);
        }
        // Others hold a name together.
        if kind != Kind::ReadWrite && !queue.has_permits() {
            self.shared.full.counted(dir, self.base.kind(), now.saturating_add(COUNTS));
        }
        Ok(Some(self.waiting_in(&queue)))
    }

    /// How many wait; who has the inner mutex of a semaphore waits, too.
    fn waiting_in(&self, queue: &ContenderQueue) -> usize {
        if self.base == NodePrefix::Lease { queue.nodes().len() } else { queue.waiting().len() }
    }
}
