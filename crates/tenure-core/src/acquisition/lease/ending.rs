//! The end of a hold: the lease goes to the next task of the process, or the store is notified.

use std::{
    sync::{Arc, MutexGuard},
    time::Duration,
};

use tenure_proto::{
    LostReason, Timestamp, Token,
    history::{Ending, EventEnd},
    hold::Action,
    local::{Handoff, turn::AtRelease},
};
use tracing::Span;

use super::{EndOutcome, Lease, LeaseHold, State};
use crate::{
    acquisition::Acquisition,
    engine::HoldEnd,
    error::Lost,
    local::{LockedQueues, QueueHead, Waiter},
    observe::HoldEnding,
    options::HoldRequest,
};

/// The facts about an ended hold that observers learn.
struct EndedHold {
    token: Token,
    since: Timestamp,
    held_for: Duration,
    /// False for a hold that was handed over and not taken.
    was_held: bool,
    /// Whether a task of this process may have had the lease afterwards.
    to_others_here: bool,
    span: Option<Arc<Span>>,
}

impl Lease {
    /// Ends the hold of `generation`: it goes to the next task of this process, or the store must be notified.
    pub(crate) fn end(self: &Arc<Self>, generation: u32) -> EndOutcome {
        let is_it = |state: &State| state.hold.generation() == generation;
        self.end_if(is_it, true)
    }

    /// Ends the hold of `generation` as [`Lease::end`] does, but no task of this process gets the lease: it leaves the
    /// process.
    pub(crate) fn leave_process(self: &Arc<Self>, generation: u32) -> EndOutcome {
        self.end_if(|state| state.hold.generation() == generation, false)
    }

    /// In a forked child nothing ends: the lease belongs to the parent.
    fn end_if(
        self: &Arc<Self>,
        is_it: impl FnOnce(&State) -> bool,
        to_others_here: bool,
    ) -> EndOutcome {
        let now = self.context.now();
        let ended = if self.context.is_forked() {
            None
        } else {
            self.end_current_hold(now, is_it, to_others_here)
        };
        ended.unwrap_or_else(|| {
            let token = self.lock().token;
            EndOutcome::Lost(self.lost_error(token, LostReason::Taken))
        })
    }

    /// Ends the current hold if it `is_it`, and decides in the same step who is next, with the queues of the process
    /// and the lease both locked. The consequences are carried out with both unlocked.
    ///
    /// | the hold | the name | next in this process | |
    /// |---|---|---|---|
    /// | is another one | | | nothing happens |
    /// | was lost | | any or none | [`end_lost`](Self::end_lost): the next one asks the store |
    /// | was held | is kept, or the lease leaves the process | any | [`leave_store`](Self::leave_store): the next one asks like everybody else |
    /// | was held | is free | none | [`leave_store`](Self::leave_store) |
    /// | was held | is free | gets the lease | [`hand_over`](Self::hand_over) |
    /// | was held | is free | gets it, and has just gone | [`hand_over`](Self::hand_over), and what was passed ends in turn |
    /// | was held | is free | asks the store for its turn | [`leave_store`](Self::leave_store) in the same call as that asks |
    pub(super) fn end_current_hold(
        self: &Arc<Self>,
        now: Timestamp,
        is_it: impl FnOnce(&State) -> bool,
        to_others_here: bool,
    ) -> Option<EndOutcome> {
        let mut queue = self.head().and_then(QueueHead::lock);
        let mut state = self.lock();
        if !is_it(&state) {
            return None;
        }
        if let Action::TellLost(reason) = state.hold.next_action(now) {
            return Some(EndOutcome::Lost(self.end_lost(queue, state, now, reason)));
        }
        let past = EndedHold {
            token: state.token,
            since: state.held_since,
            held_for: now.since(state.held_since),
            was_held: state.hold.claimed(),
            to_others_here,
            span: state.take_span(),
        };
        state.hold.let_go();
        let stays_taken = state.keep_until > now || !to_others_here;
        let next = match &mut queue {
            None => Handoff::Nothing,
            Some(queue) if stays_taken => queue.decide_leave(now),
            Some(queue) => {
                queue.decide_release(now, |request| self.release_conditions(&state, request, now))
            }
        };
        Some(match next {
            Handoff::Lease(waiter, token) => {
                self.hand_over(queue, state, waiter, token, now, &past)
            }
            next => self.leave_store(queue, state, next, !stays_taken, now, &past),
        })
    }

    /// The hold was lost before it ended. Its holder is notified, and what the store may keep is taken back.
    fn end_lost(
        self: &Arc<Self>,
        mut queue: Option<LockedQueues<'_, Self>>,
        mut state: MutexGuard<'_, State>,
        now: Timestamp,
        reason: LostReason,
    ) -> Lost {
        let loss = self.mark_lost(&mut state, now, reason);
        let lost = self.lost_error_from(state.loss_background(), state.token, reason);
        let acquisition = self.end_lease(&mut state, Timestamp::ZERO, false);
        let next = queue.as_mut().map(|queue| queue.decide_leave(now));
        drop(state);
        queue.zip(next).into_iter().for_each(|(queue, next)| queue.carry_out(next));
        loss.iter().for_each(|loss| self.tell(loss));
        drop(acquisition);
        lost
    }

    /// The lease goes to the next task of this process, with `token`.
    fn hand_over(
        self: &Arc<Self>,
        queue: Option<LockedQueues<'_, Self>>,
        state: MutexGuard<'_, State>,
        waiter: Waiter<Self>,
        token: Token,
        now: Timestamp,
        past: &EndedHold,
    ) -> EndOutcome {
        let unwanted = self.pass(state, queue, waiter, token, now, past);
        // The released hold has ended well, whatever happened to the next one.
        match unwanted.map(|mut held| held.end()) {
            Some(EndOutcome::Leaving(mut acquisition)) => {
                acquisition.set_believed(past.was_held);
                EndOutcome::Leaving(acquisition)
            }
            Some(EndOutcome::HandedOver | EndOutcome::Lost(_)) | None => EndOutcome::HandedOver,
        }
    }

    /// The lease is over for this process, and the store must be notified: by the `next` task, if it asks for its turn
    /// and both `go_together`, or by the caller.
    fn leave_store(
        &self,
        mut queue: Option<LockedQueues<'_, Self>>,
        mut state: MutexGuard<'_, State>,
        next: Handoff<Waiter<Self>>,
        go_together: bool,
        now: Timestamp,
        past: &EndedHold,
    ) -> EndOutcome {
        let keep_until = state.keep_until;
        // How a hold is detached turns out later.
        if state.slot.is_some() && past.to_others_here {
            self.add_ending(&state, Ending::Released, now);
        }
        let mut acquisition = self.end_lease(&mut state, keep_until, past.was_held);
        if go_together
            && matches!(next, Handoff::Head(..))
            && let Some(queue) = &mut queue
        {
            queue.with_handover_state(|along| along.over = acquisition.take());
        }
        drop(state);
        if let Some(queue) = queue {
            queue.carry_out(next);
        }
        self.tell_end(past);
        match acquisition {
            Some(acquisition) => EndOutcome::Leaving(acquisition),
            None => EndOutcome::HandedOver,
        }
    }

    /// Reports the end of a hold while nothing is locked, because an observer may inspect the lock.
    fn tell_end(&self, past: &EndedHold) {
        let &EndedHold { token, since, held_for, was_held, to_others_here, ref span } = past;
        if was_held {
            let how = if to_others_here { HoldEnding::Released } else { HoldEnding::LeavesProcess };
            let (observed, times) = (self.name_use().observed(), (since, held_for));
            self.context.observer.record_end(observed, token, times, how, span.as_deref());
        }
    }

    /// Ends the hold of `generation` without notifying the store.
    pub(crate) fn abandon(self: &Arc<Self>, generation: u32) -> Duration {
        let now = self.context.now();
        let mut state = self.lock();
        let over = state.hold.generation() != generation;
        if over || self.context.is_forked() {
            return Duration::ZERO;
        }
        let rest = state.hold.deadline().since(now);
        let (token, since) = (state.token, state.held_since);
        let loss = match state.hold.next_action(now) {
            Action::TellLost(reason) => Err(self.mark_lost(&mut state, now, reason)),
            Action::Renew | Action::PassOn | Action::WaitUntil(_) => {
                self.add_ending(&state, Ending::Abandoned, now);
                Ok(())
            }
        };
        let span = state.take_span();
        state.hold.end();
        self.cancel_check(&mut state);
        let slot = state.slot.take();
        drop(state);
        drop(slot);
        self.leave_queue();
        match loss {
            Ok(()) => {
                let (observed, times) = (self.name_use().observed(), (since, now.since(since)));
                let (observer, how) = (&self.context.observer, HoldEnding::Abandoned);
                observer.record_end(observed, token, times, how, span.as_deref());
            }
            Err(loss) => loss.iter().for_each(|loss| self.tell(loss)),
        }
        rest
    }

    /// Sets the exit code of the command that ran under the lock, for the history.
    pub(crate) fn set_exit_code(&self, generation: u32, exit_code: i32) {
        if self.context.is_forked() {
            return;
        }
        let mut state = self.lock();
        if state.hold.generation() != generation {
            return;
        }
        state.rare.get_or_insert_default().exit_code = Some(exit_code);
        if state.told_lost {
            // How it ended was said when it was lost.
            self.add_ending(&state, Ending::Expired, self.context.now());
        }
    }

    /// Adds to the history of the lock what became of a hold that left this process.
    pub(crate) fn tell_of_detaching(&self, ending: Ending) {
        self.add_ending(&self.lock(), ending, self.context.now());
    }

    /// Adds to the history of the lock how the lease ends for this process.
    pub(super) fn add_ending(&self, state: &State, ending: Ending, now: Timestamp) {
        let journal = &self.context.journal;
        if journal.is_empty() || state.awaits_slot() {
            return;
        }
        let by = state.broken_by().map(|by| (*by).clone());
        let ending = match ending {
            Ending::Lost(LostReason::Taken) if by.is_some() => Ending::Broken,
            other => other,
        };
        let end = EventEnd { exit_code: state.exit_code(), by, ..EventEnd::new(ending) };
        journal.ended(&self.held_now(state), end, now);
    }

    /// What the lease offers to a task with this `request`.
    fn release_conditions(
        &self,
        state: &State,
        request: &HoldRequest,
        now: Timestamp,
    ) -> AtRelease {
        AtRelease {
            now,
            token: state.token,
            deadline: state.hold.deadline_for(&request.terms),
            next_ttl: request.terms.ttl,
            renewal_unanswered: state.hold.renewal_unanswered(),
            release_requested: state.release_requested(),
            pass_bits: self.context.store.capabilities().pass_bits,
        }
    }

    /// Hands the lease over to the next task of this process, with `token`. The hold comes back if the task has just
    /// gone.
    fn pass(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, State>,
        queue: Option<LockedQueues<'_, Self>>,
        waiter: Waiter<Self>,
        token: Token,
        now: Timestamp,
        past: &EndedHold,
    ) -> Option<LeaseHold> {
        let request = &waiter.request;
        state.hold.pass(now, request.terms, self.context.claim_window());
        state.token = token;
        state.label = request.label.clone();
        state.held_since = now;
        state.forget_what_was_told();
        let wakes = self.schedule_check_quietly(&mut state, now);
        let generation = state.hold.generation();
        let news = state.change_notify();
        drop(state);
        drop(queue);
        drop(wakes);
        self.tell_end(past);
        news.iter().for_each(|news| news.notify_waiters());
        self.context.observer.record_handover(self.name_use().observed(), token);
        waiter.try_hand_over(LeaseHold::new(self.clone(), generation, token))
    }

    fn end_lease(
        &self,
        state: &mut State,
        keep_until: Timestamp,
        believed: bool,
    ) -> Option<Box<Acquisition>> {
        state.hold.end();
        if state.hold.ended() {
            self.cancel_check(state);
        }
        self.take_release(state, keep_until, believed)
    }

    /// The release for the store, unless it was made before. `believed` says whether the holder counted on the hold to
    /// its end.
    pub(super) fn take_release(
        &self,
        state: &mut State,
        keep_until: Timestamp,
        believed: bool,
    ) -> Option<Box<Acquisition>> {
        let slot = state.slot.take()?;
        // The store keeps the lease until its end, even if the hold ended before.
        let terms = state.hold.terms();
        let until = state.hold.deadline_for(&terms).saturating_add(terms.grace.rounded());
        let end = HoldEnd { token: state.token, until, keep_until, believed };
        let (context, tainted) = (&self.context, state.late_calls_until());
        let observed = self.name_use().observed();
        Some(Box::new(Acquisition::from_ended_hold(
            context, observed, self.owner, slot, tainted, end,
        )))
    }
}
