//! How a hold ends: the lease goes to the next task of the process, or the store is told.

use std::{
    sync::{Arc, MutexGuard},
    time::Duration,
};

use tenure_proto::{
    LostReason, Timestamp, Token,
    hold::Action,
    local::{Handoff, turn::AtRelease},
};

use super::{Ended, Held, Lease, State};
use crate::{
    acquisition::Acquisition,
    engine::End,
    local::{Head, Locked, Waiter},
    options::HoldRequest,
};

impl Lease {
    /// Ends the hold of `generation`: it goes to the next task of this process, or the store is to
    /// be told.
    pub(crate) fn end(self: &Arc<Self>, generation: u32) -> Ended {
        let is_it = |state: &State| state.hold.generation() == generation;
        self.end_if(is_it, true)
    }

    /// Ends the hold of `generation` as [`Lease::end`] does, but no task of this process gets the lease:
    /// it leaves the process.
    pub(crate) fn leave_process(self: &Arc<Self>, generation: u32) -> Ended {
        self.end_if(|state| state.hold.generation() == generation, false)
    }

    /// A forked copy holds nothing: the lease is its parent's to end.
    fn end_if(self: &Arc<Self>, is_it: impl FnOnce(&State) -> bool, to_others_here: bool) -> Ended {
        let now = self.context.now();
        let ended =
            if self.context.forked() { None } else { self.let_go(now, is_it, to_others_here) };
        ended.unwrap_or_else(|| {
            let token = self.lock().token;
            Ended::Lost(self.loss(token, LostReason::Taken))
        })
    }

    /// Ends the present hold if it `is_it`; who is next is decided in the same step. The lease may go
    /// `to_others_here`.
    pub(super) fn let_go(
        self: &Arc<Self>,
        now: Timestamp,
        is_it: impl FnOnce(&State) -> bool,
        to_others_here: bool,
    ) -> Option<Ended> {
        let mut queue = self.head().and_then(Head::lock);
        let mut state = self.lock();
        if !is_it(&state) {
            return None;
        }
        if let Action::TellLost(reason) = state.hold.next_action(now) {
            let lost = self.loss_in(state.last_renewal_error(), state.token, reason);
            let loss = self.lost_now(&mut state, now, reason);
            let acquisition = self.leave(&mut state, Timestamp::ZERO, false);
            let handoff = queue.as_mut().map(|queue| queue.leave(now));
            drop(state);
            queue.zip(handoff).into_iter().for_each(|(queue, handoff)| queue.carry_out(handoff));
            loss.iter().for_each(|loss| self.tell(loss));
            drop(acquisition);
            return Some(Ended::Lost(lost));
        }
        let (token, held_for) = (state.token, now.since(state.held_since));
        let was_held = state.hold.claimed();
        state.hold.let_go();
        // Then the next task of this process waits for it like everybody else.
        let stays_taken = state.keep_until > now || !to_others_here;
        let handoff = match &mut queue {
            None => Handoff::Nothing,
            Some(queue) if stays_taken => queue.leave(now),
            Some(queue) => queue.released(now, |wants| self.at_release(&state, wants, now)),
        };
        // Told of when nothing is locked: whoever hears of it may look at the lock.
        let tell = || {
            let observer = &self.context.observer;
            match was_held {
                true if to_others_here => observer.released(self.name(), token, held_for),
                true => observer.leaves(self.name(), token, held_for),
                false => {}
            }
        };
        if let Handoff::Lease(waiter, token) = handoff {
            let unwanted = self.pass(state, queue, waiter, token, now, tell);
            // The hold that was let go of has ended well, whatever became of the next one.
            return Some(match unwanted.map(|mut held| held.end()) {
                Some(Ended::Leaving(mut acquisition)) => {
                    acquisition.believe(was_held);
                    Ended::Leaving(acquisition)
                }
                Some(Ended::HandedOver | Ended::Lost(_)) | None => Ended::HandedOver,
            });
        }
        let keep_until = state.keep_until;
        let mut acquisition = self.leave(&mut state, keep_until, was_held);
        let goes_along = !stays_taken && matches!(handoff, Handoff::Head(..));
        if let Some(queue) = queue.as_mut().filter(|_| goes_along) {
            queue.along(|along| along.over = acquisition.take());
        }
        drop(state);
        if let Some(queue) = queue {
            queue.carry_out(handoff);
        }
        tell();
        Some(match acquisition {
            Some(acquisition) => Ended::Leaving(acquisition),
            None => Ended::HandedOver,
        })
    }

    /// Ends the hold of `generation` without telling the store.
    pub(crate) fn abandon(self: &Arc<Self>, generation: u32) -> Duration {
        let now = self.context.now();
        let mut state = self.lock();
        let over = state.hold.generation() != generation;
        if over || self.context.forked() {
            return Duration::ZERO;
        }
        let rest = state.hold.deadline().since(now);
        let (token, held_for) = (state.token, now.since(state.held_since));
        let loss = match state.hold.next_action(now) {
            Action::TellLost(reason) => Err(self.lost_now(&mut state, now, reason)),
            Action::Renew | Action::PassOn | Action::WaitUntil(_) => Ok(()),
        };
        state.hold.end();
        self.unplan(&mut state);
        let slot = state.slot.take();
        drop(state);
        drop(slot);
        self.leave_queue();
        match loss {
            Ok(()) => self.context.observer.left_to_expire(self.name(), token, held_for),
            Err(loss) => loss.iter().for_each(|loss| self.tell(loss)),
        }
        rest
    }

    /// What the lease is worth to a task that wants `wants`.
    fn at_release(&self, state: &State, wants: &HoldRequest, now: Timestamp) -> AtRelease {
        AtRelease {
            now,
            token: state.token,
            deadline: state.hold.deadline_for(&wants.terms),
            next_ttl: wants.terms.ttl,
            renewal_unanswered: state.hold.renewal_unanswered(),
            release_requested: state.release_requested(),
            pass_bits: self.context.store.capabilities().pass_bits,
        }
    }

    /// Passes the lease on to the next task of this process, with `token`; its hold comes back if the
    /// task has just gone.
    fn pass(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, State>,
        queue: Option<Locked<'_, Self>>,
        waiter: Waiter<Self>,
        token: Token,
        now: Timestamp,
        tell: impl FnOnce(),
    ) -> Option<Held> {
        let wants = &waiter.wants;
        state.hold.pass(now, wants.terms, self.context.claim_window());
        state.token = token;
        state.label = wants.label.clone();
        state.held_since = now;
        let wakes = self.plan_quietly(&mut state, now);
        let generation = state.hold.generation();
        let news = state.news();
        drop(state);
        drop(queue);
        drop(wakes);
        tell();
        news.iter().for_each(|news| news.notify_waiters());
        self.context.observer.passed(self.name(), token);
        waiter.give(Held::new(self.clone(), generation, token))
    }

    fn leave(
        &self,
        state: &mut State,
        keep_until: Timestamp,
        believed: bool,
    ) -> Option<Box<Acquisition>> {
        state.hold.end();
        if state.hold.ended() {
            self.unplan(state);
        }
        self.depart(state, keep_until, believed)
    }

    /// What the store is to be told, if it was not told before. Its holder `believed` in the hold to its end.
    pub(super) fn depart(
        &self,
        state: &mut State,
        keep_until: Timestamp,
        believed: bool,
    ) -> Option<Box<Acquisition>> {
        let slot = state.slot.take()?;
        // The store keeps the lease until its own end, also where the hold ended before.
        let terms = state.hold.terms();
        let until = state.hold.deadline_for(&terms).saturating_add(terms.grace.rounded());
        let end = End { token: state.token, until, keep_until, believed };
        let (context, name, tainted) = (&self.context, self.name(), state.tainted_until());
        Some(Box::new(Acquisition::over(context, name, self.owner, slot, tainted, end)))
    }
}
