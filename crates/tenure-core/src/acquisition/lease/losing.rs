//! How a hold is lost. Whoever notices it first, the engine or a holder, comes here, so a loss is told and
//! counted once.

use std::{
    sync::{Arc, MutexGuard},
    time::Duration,
};

use tenure_proto::{LostReason, Timestamp};
use tokio::sync::Notify;

use super::{Lease, State};
use crate::error::Lost;

/// A loss that nobody was told of yet.
#[must_use = "it is to be told when nothing is locked"]
pub(super) struct UnreportedLoss {
    lost: Lost,
    /// How long it was held; nothing if nobody had taken what was passed on.
    held: Option<Duration>,
    news: Option<Arc<Notify>>,
}

impl UnreportedLoss {
    fn tell_holder(&self) {
        self.news.iter().for_each(|news| news.notify_waiters());
    }
}

impl Lease {
    /// The hold is over and was not released.
    pub(super) fn lose(
        &self,
        mut state: MutexGuard<'_, State>,
        now: Timestamp,
        reason: LostReason,
    ) {
        // A forked copy loses nothing of its parent's.
        if self.context.is_forked() {
            return;
        }
        let Some(loss) = self.mark_lost(&mut state, now, reason) else { return };
        self.unplan(&mut state);
        // The store still has a hold that has lasted its longest. Nobody is to wait for the rest of
        // that lease, a scope that asks for it again least of all, only because a guard is kept.
        let outlasted = reason == LostReason::MaxHold;
        let keep_until = state.keep_until;
        let acquisition = outlasted.then(|| self.depart(&mut state, keep_until, false));
        drop(state);
        loss.tell_holder();
        drop(acquisition);
        // Whoever is next in this process need not wait for a guard that is worth nothing, nor for who observes.
        self.leave_queue();
        self.count(&loss);
    }

    /// Marks it lost; nothing if it was before.
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
        Some(UnreportedLoss {
            lost: self.loss_in(state.last_renewal_error(), state.token, reason),
            held: state.hold.claimed().then(|| now.since(state.held_since)),
            news: state.news(),
        })
    }

    /// Tells of a loss. Whoever hears of it may look at the lock.
    pub(super) fn tell(&self, loss: &UnreportedLoss) {
        loss.tell_holder();
        self.count(loss);
    }

    fn count(&self, loss: &UnreportedLoss) {
        if let Some(held) = loss.held {
            self.context.observer.lost(&loss.lost, held);
        }
    }
}
