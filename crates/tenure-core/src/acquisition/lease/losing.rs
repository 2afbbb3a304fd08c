//! How a hold is lost. Whether the engine or a holder notices it first, this is where it happens, so a loss is reported
//! and counted once.

use std::{
    sync::{Arc, MutexGuard},
    time::Duration,
};

use tenure_proto::{LostReason, Timestamp, history::Ending};
use tokio::sync::Notify;
use tracing::Span;

use super::{Lease, State};
use crate::error::Lost;

/// A loss that was not reported yet.
#[must_use = "it is to be told when nothing is locked"]
pub(super) struct UnreportedLoss {
    lost: Lost,
    /// Since when and how long it was held; `None` if it was handed over and not taken.
    held: Option<(Timestamp, Duration)>,
    span: Option<Arc<Span>>,
    news: Option<Arc<Notify>>,
}

impl UnreportedLoss {
    fn tell_holder(&self) {
        self.news.iter().for_each(|news| news.notify_waiters());
    }
}

impl Lease {
    /// The hold ended without a release.
    pub(super) fn lose(
        &self,
        mut state: MutexGuard<'_, State>,
        now: Timestamp,
        reason: LostReason,
    ) {
        // A forked child does not lose its parent's holds.
        if self.context.is_forked() {
            return;
        }
        let Some(loss) = self.mark_lost(&mut state, now, reason) else { return };
        self.cancel_check(&mut state);
        // The store still has a hold that has reached its `max_hold`. No task should wait for the
        // rest of that lease only because a guard still exists, least of all a scope that asks for
        // the lock again.
        let outlasted = reason == LostReason::MaxHold;
        let keep_until = state.keep_until;
        let acquisition = outlasted.then(|| self.take_release(&mut state, keep_until, false));
        drop(state);
        loss.tell_holder();
        drop(acquisition);
        // The next task of this process need not wait for a worthless guard, nor for observers.
        self.leave_queue();
        self.count(&loss);
    }

    /// Marks it lost; `None` if it was lost before.
    pub(super) fn mark_lost(
        &self,
        state: &mut State,
        now: Timestamp,
        reason: LostReason,
    ) -> Option<UnreportedLoss> {
        state.hold.lose(reason);
        if std::mem::replace(&mut state.told_lost, true) {
            return None;
        }
        if reason == LostReason::Taken {
            state.attribute_loss(now);
        }
        self.add_ending(state, Ending::Lost(reason), now);
        Some(UnreportedLoss {
            lost: self.lost_error_from(state.loss_background(), state.token, reason),
            held: state.hold.claimed().then(|| (state.held_since, now.since(state.held_since))),
            span: state.take_span(),
            news: state.change_notify(),
        })
    }

    /// Reports a loss. A receiver may inspect the lock.
    pub(super) fn tell(&self, loss: &UnreportedLoss) {
        loss.tell_holder();
        self.count(loss);
    }

    fn count(&self, loss: &UnreportedLoss) {
        if let Some(held) = loss.held {
            let (observer, span) = (&self.context.observer, loss.span.as_deref());
            observer.record_lost(self.name_use().series, &loss.lost, held, span);
        }
    }
}
