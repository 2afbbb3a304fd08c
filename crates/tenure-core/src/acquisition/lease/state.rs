//! The part of a lease that may change.

use std::{sync::Arc, time::Duration};

use tenure_proto::{
    Hold, Timestamp, Token,
    history::SlotTry,
    queue::{Identity, Label, Mode},
};
use tokio::sync::Notify;
use tracing::Span;

use crate::{
    Fault,
    engine::{AgendaKey, Slot},
};

/// How long after an announcement that the lock will be broken a loss is put down to it.
const ANNOUNCEMENT_COUNTS: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct State {
    pub(super) hold: Hold,
    pub(super) token: Token,
    pub(super) mode: Mode,
    /// `None` once another part of the program is responsible for its end.
    pub(super) slot: Option<Slot>,
    pub(super) scheduled: Option<AgendaKey>,
    pub(super) held_since: Timestamp,
    pub(super) keep_until: Timestamp,
    pub(super) label: Label,
    pub(super) told_lost: bool,
    /// State that most leases do not have.
    pub(super) rare: Option<Box<LeaseExtras>>,
}

/// The state of a lease that is watched for news, has a release request or a span, or has had a failure.
#[derive(Debug, Default)]
pub(super) struct LeaseExtras {
    /// Until when a call that was given up may still arrive.
    pub(super) tainted_until: Timestamp,
    /// Why the last renewal failed, if it did.
    pub(super) failure: Option<Arc<Fault>>,
    /// Whether there is a release request. The lease is never handed over after that, so a request concerns one hold
    /// alone.
    pub(super) release_requested: bool,
    /// Who asks for it, if they say so.
    pub(super) requested_by: Option<Arc<Identity>>,
    /// Who announced to break the lock, and when that was read.
    pub(super) announced_by: Option<(Arc<Identity>, Timestamp)>,
    /// Who broke the lock, if they said so.
    pub(super) broken_by: Option<Arc<Identity>>,
    /// Whether the hold was lost because the store said so.
    pub(super) was_taken: bool,
    /// Whether anybody ever waited for a request or asked for one.
    pub(super) heeds_requests: bool,
    /// Notifies tasks that wait for the loss or for a request.
    pub(super) news: Arc<Notify>,
    /// The exit code of the command that ran under the lock.
    pub(super) exit_code: Option<i32>,
    /// The run of a slot that it is for.
    pub(super) slot_try: Option<SlotTry>,
    /// Whether it is for a slot of which no run is to begin yet: the history is not told of it before.
    pub(super) awaits_slot: bool,
    /// The span of the hold.
    pub(super) span: Option<Arc<Span>>,
}

/// What is known of why a hold was lost.
#[derive(Debug, Default)]
pub(super) struct LossBackground {
    /// Why the last renewal failed, if it did.
    pub(super) failure: Option<Arc<Fault>>,
    /// Who broke the lock, if they said so.
    pub(super) broken_by: Option<Arc<Identity>>,
}

impl State {
    /// What is known of why the hold was lost.
    pub(super) fn loss_background(&self) -> LossBackground {
        LossBackground { failure: self.last_renewal_error(), broken_by: self.broken_by() }
    }

    /// The exit code of the command that ran under the lock, if one did.
    pub(super) fn exit_code(&self) -> Option<i32> {
        self.rare.as_ref()?.exit_code
    }

    /// The run of a slot that it is for, if it is for one.
    pub(super) fn slot_try(&self) -> Option<&SlotTry> {
        self.rare.as_ref()?.slot_try.as_ref()
    }

    /// Whether it is for a slot of which no run is to begin yet.
    pub(super) fn awaits_slot(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.awaits_slot)
    }

    /// Forgets what the task that had the lease before told of its hold.
    pub(super) fn forget_what_was_told(&mut self) {
        if let Some(rare) = &mut self.rare {
            (rare.exit_code, rare.slot_try) = (None, None);
        }
    }

    pub(super) fn last_renewal_error(&self) -> Option<Arc<Fault>> {
        self.rare.as_ref()?.failure.clone()
    }

    /// Records that the last renewal failed, or that it did not.
    pub(super) fn renewal_failed(&mut self, fault: Option<Fault>) {
        if fault.is_some() || self.rare.is_some() {
            self.rare.get_or_insert_default().failure = fault.map(Arc::new);
        }
    }

    /// The tasks to notify of a change, when nothing is locked.
    pub(super) fn change_notify(&self) -> Option<Arc<Notify>> {
        self.rare.as_ref().map(|rare| rare.news.clone())
    }

    /// Whether there is a release request.
    pub(super) fn release_requested(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.release_requested)
    }

    /// Who broke the lock, if they said so.
    pub(super) fn broken_by(&self) -> Option<Arc<Identity>> {
        self.rare.as_ref()?.broken_by.clone()
    }

    /// The hold was taken. Whoever announced that just now did it.
    pub(super) fn attribute_loss(&mut self, now: Timestamp) {
        let rare = self.rare.get_or_insert_default();
        rare.was_taken = true;
        let announced = rare.announced_by.take();
        let announced = announced.filter(|(_, at)| now.since(*at) < ANNOUNCEMENT_COUNTS);
        rare.broken_by = announced.map(|(by, _)| by);
    }

    /// The span of the hold, if it has one.
    pub(super) fn span(&self) -> Option<Arc<Span>> {
        self.rare.as_ref()?.span.clone()
    }

    /// Takes the span of the hold, which ends with it.
    pub(super) fn take_span(&mut self) -> Option<Arc<Span>> {
        self.rare.as_mut()?.span.take()
    }

    pub(super) fn set_span(&mut self, span: Option<Arc<Span>>) {
        if span.is_some() {
            self.rare.get_or_insert_default().span = span;
        }
    }

    /// Until when a call that was given up may still arrive.
    pub(super) fn late_calls_until(&self) -> Timestamp {
        self.rare.as_ref().map_or(Timestamp::ZERO, |rare| rare.tainted_until)
    }

    /// Sets until when a call that may be given up can arrive.
    pub(super) fn set_late_calls_until(&mut self, until: Timestamp) {
        self.rare.get_or_insert_default().tainted_until = until;
    }
}

#[cfg(test)]
mod tests {
    use std::mem::size_of;

    use super::super::{Lease, LeaseHold};

    #[test]
    fn a_process_can_have_a_hundred_thousand_of_them() {
        let (lease, held) = (size_of::<Lease>(), size_of::<LeaseHold>());
        assert!(lease <= 280 && held <= 24, "a lease takes {lease} bytes, a hold of it {held}");
    }
}
