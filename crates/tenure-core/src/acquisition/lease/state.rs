//! What may change about a lease.

use std::sync::Arc;

use tenure_proto::{
    Hold, Timestamp, Token,
    queue::{Label, Mode},
};
use tokio::sync::Notify;

use crate::{
    Fault,
    engine::{AgendaKey, Slot},
};

#[derive(Debug)]
pub(super) struct State {
    pub(super) hold: Hold,
    pub(super) token: Token,
    pub(super) mode: Mode,
    /// None once its end is known to somebody else.
    pub(super) slot: Option<Slot>,
    pub(super) scheduled: Option<AgendaKey>,
    pub(super) held_since: Timestamp,
    pub(super) keep_until: Timestamp,
    pub(super) label: Label,
    pub(super) told_lost: bool,
    /// What most leases do not have.
    pub(super) rare: Option<Box<LeaseExtras>>,
}

/// What a lease has of which somebody wants to hear more, whose release is requested, or with which
/// something went wrong.
#[derive(Debug, Default)]
pub(super) struct LeaseExtras {
    /// Until when a call that was given up may still arrive.
    pub(super) tainted_until: Timestamp,
    /// Why the last renewal failed, if it did.
    pub(super) failure: Option<Arc<Fault>>,
    /// Whether somebody asked its holder to let go. It is never passed on after that, so it is asked of
    /// one hold alone.
    pub(super) release_requested: bool,
    /// Tells those who want to hear of the loss or of a request.
    pub(super) news: Arc<Notify>,
}

impl State {
    pub(super) fn last_renewal_error(&self) -> Option<Arc<Fault>> {
        self.rare.as_ref()?.failure.clone()
    }

    /// The last renewal failed, or did not.
    pub(super) fn renewal_failed(&mut self, fault: Option<Fault>) {
        if fault.is_some() || self.rare.is_some() {
            self.rare.get_or_insert_default().failure = fault.map(Arc::new);
        }
    }

    /// Who is to be told of a change, when nothing is locked.
    pub(super) fn news(&self) -> Option<Arc<Notify>> {
        self.rare.as_ref().map(|rare| rare.news.clone())
    }

    /// Whether somebody asked its holder to let go.
    pub(super) fn release_requested(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.release_requested)
    }

    /// Until when a call that was given up may still arrive.
    pub(super) fn tainted_until(&self) -> Timestamp {
        self.rare.as_ref().map_or(Timestamp::ZERO, |rare| rare.tainted_until)
    }

    /// A call that may be given up can arrive until then, or no more.
    pub(super) fn taint(&mut self, until: Timestamp) {
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
        assert!(lease <= 272 && held <= 24, "a lease takes {lease} bytes, a hold of it {held}");
    }
}
