//! Neighbours in the order that are in the same store: they are requested together first.

use std::{sync::Arc, time::Duration};

use tenure_proto::Timestamp;

use super::part::OrderedLock;
use crate::{
    AcquireError, Busy, Fault, FaultKind,
    acquire::timed_out,
    acquire::together::{JointOutcome, LockRequest, try_together},
    acquisition::guard::Guard,
    context::StoreContext,
};

/// Locks of one store that are next to each other in the order.
pub(super) struct StoreGroup<'a> {
    pub(super) parts: &'a [OrderedLock],
    first: &'a OrderedLock,
}

/// The outcome of requesting all of them at once.
pub(super) enum GroupOutcome {
    Held(Vec<Guard>),
    /// They are to be requested one by one. `doubted` if the store may have granted all of them, which is being taken
    /// back.
    Apart {
        doubted: bool,
    },
}

/// All of them, in the order.
pub(super) fn groups(parts: &[OrderedLock]) -> impl Iterator<Item = StoreGroup<'_>> + Send {
    let same = |one: &OrderedLock, next: &OrderedLock| {
        Arc::ptr_eq(one.target.context(), next.target.context())
    };
    let group = |parts| <[OrderedLock]>::first(parts).map(|first| StoreGroup { parts, first });
    parts.chunk_by(same).filter_map(group)
}

impl StoreGroup<'_> {
    /// Requests all of them at once. It never waits for another holder, so it cannot be part of a circle.
    async fn together(&self, until: Timestamp) -> Result<JointOutcome, AcquireError> {
        if self.parts.len() < 2 {
            return Ok(JointOutcome::Apart);
        }
        let wanted: Vec<_> = self
            .parts
            .iter()
            .map(|OrderedLock { target, name, settings, .. }| LockRequest {
                name,
                settings,
                called: target.span_name(),
            })
            .collect();
        try_together(self.first.target.acquirer(), &wanted, until).await
    }

    /// Tries all of them: the guards, or nothing if they are to be tried one by one. `Err(None)` if
    /// one of them is busy.
    pub(super) async fn try_together(&self) -> Result<Option<Vec<Guard>>, Option<AcquireError>> {
        match self.together(Timestamp::NEVER).await.map_err(Some)? {
            JointOutcome::Held(guards) => Ok(Some(guards)),
            JointOutcome::Apart => Ok(None),
            JointOutcome::Failed(fault) => Err(Some(self.failed(fault))),
            JointOutcome::Busy(index, ..) | JointOutcome::BusyHere(index) => {
                let part = self.part(index);
                let observed = (part.settings.series, &part.name);
                self.context().observer.record_contended(observed);
                Err(None)
            }
        }
    }

    /// The guards of all of them if they were granted at once, or nothing if they are to be requested one by one, each
    /// with the rest of the wait.
    pub(super) async fn lock_together(
        &self,
        wait: Option<Duration>,
    ) -> Result<GroupOutcome, AcquireError> {
        let asked = self.context().now();
        // Without a wait, the answer is awaited as long as for a try.
        let tries = wait.is_some_and(|wait| wait.is_zero());
        let wait = wait.filter(|_| !tries);
        let give_up = wait.map_or(Timestamp::NEVER, |wait| asked.saturating_add(wait));
        let (busy, kind) = match self.together(give_up).await? {
            JointOutcome::Held(guards) => return Ok(GroupOutcome::Held(guards)),
            JointOutcome::Failed(fault) if tries || self.context().now() >= give_up => {
                return Err(self.failed(fault));
            }
            // Requesting the first one alone retries transient faults, and can say which one fails.
            JointOutcome::Failed(fault) => {
                return Ok(GroupOutcome::Apart { doubted: fault.kind() == FaultKind::InDoubt });
            }
            JointOutcome::Apart => return Ok(GroupOutcome::Apart { doubted: false }),
            JointOutcome::Busy(index, holder, ahead) => {
                let part = self.part(index);
                let busy = Busy { name: part.name.clone(), holder, ahead, here: false };
                (busy, part.settings.kind)
            }
            JointOutcome::BusyHere(index) => {
                let part = self.part(index);
                let queues = &self.first.target.acquirer().queues;
                let busy = queues.busy_state(&part.settings.name_use(&part.name), None);
                (busy, part.settings.kind)
            }
        };
        if !tries {
            return Ok(GroupOutcome::Apart { doubted: false });
        }
        Err(timed_out(self.context(), kind, asked, busy))
    }

    fn context(&self) -> &Arc<StoreContext> {
        self.first.target.context()
    }

    fn part(&self, index: usize) -> &OrderedLock {
        self.parts.get(index).unwrap_or(self.first)
    }

    fn failed(&self, fault: Fault) -> AcquireError {
        let name = &self.first.name;
        let error = AcquireError::store(self.context().address(name), fault);
        let observed = (self.first.settings.series, name);
        self.context().observer.record_failed(observed, &error);
        error
    }
}
