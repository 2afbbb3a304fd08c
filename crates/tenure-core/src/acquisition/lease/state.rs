//! The part of a lease that may change.

use std::sync::Arc;

use tenure_proto::{
    Hold, Timestamp, Token,
    queue::{Label, Mode},
};
use tokio::sync::Notify;
use tracing::Span;

use crate::{
    Fault,
    engine::{AgendaKey, Slot},
};

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
    /// Notifies tasks that wait for the loss or for a request.
    pub(super) news: Arc<Notify>,
    /// The span of the hold.
    pub(super) span: Option<Arc<Span>>,
}

impl State {
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
