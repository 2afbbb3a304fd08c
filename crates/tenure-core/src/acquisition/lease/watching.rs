//! The engine's work with a lease: renewing it, and noticing its loss.

use std::sync::Arc;

use tenure_proto::{Owner, Renewed, Timestamp, hold::Action};

use super::{Lease, State};
use crate::{
    Fault,
    engine::{Job, WakeOnDrop, WatchedLease},
    name_use::NameUse,
    notes::{Note, NoteKind},
    store::Renewal,
};

impl WatchedLease for Lease {
    fn name_use(&self) -> &NameUse {
        self.name_use()
    }

    fn owner(&self) -> Owner {
        self.owner
    }

    fn on_time(self: Arc<Self>, now: Timestamp) -> Option<Renewal> {
        let mut state = self.lock();
        state.scheduled = None;
        let risk = Self::take_risk_change(&mut state, now);
        let renewal = match state.hold.next_action(now) {
            _ if state.hold.ended() => {
                drop(state);
                None
            }
            Action::TellLost(reason) => {
                self.lose(state, now, reason);
                None
            }
            Action::PassOn => {
                drop(state);
                // This engine sends the release to the store. The task may have taken the hold by
                // now.
                let untaken = |state: &State| state.hold.next_action(now) == Action::PassOn;
                drop(self.end_current_hold(now, untaken, true));
                None
            }
            Action::WaitUntil(_) => {
                self.schedule_check(&mut state, now);
                drop(state);
                None
            }
            Action::Renew => {
                let ttl = state.hold.renewal_length(now);
                state.hold.renewal_sent(now);
                self.schedule_check(&mut state, now);
                drop(state);
                Some(Renewal { name: self.name().clone(), owner: self.owner, ttl })
            }
        };
        risk.iter().for_each(|risk| self.tell_risk(risk));
        renewal
    }

    fn hinted(self: Arc<Self>, now: Timestamp, due: Timestamp) {
        let mut state = self.lock();
        // A hold that is over is no longer watched.
        if state.scheduled.is_some() {
            state.hold.hinted(due);
            self.schedule_check(&mut state, now);
        }
    }

    fn release_requested(&self) {
        self.note_request(None);
    }

    fn heeds_requests(&self) -> bool {
        self.lock().rare.as_ref().is_some_and(|rare| rare.heeds_requests)
    }

    fn note_read(&self, note: &Note) {
        let pass_bits = self.context.store.capabilities().pass_bits;
        let token = self.lock().token;
        // What was said to another hold is not for this one.
        if !note.scope.has(token, pass_bits) {
            return;
        }
        match note.kind {
            NoteKind::ReleaseRequest => self.note_request(Some(&note.by)),
            NoteKind::Break => self.note_break(&note.by),
        }
    }

    fn is_troubled(&self) -> bool {
        let state = self.lock();
        !state.hold.ended() && state.last_renewal_error().is_some()
    }

    fn renewal_answered(
        self: Arc<Self>,
        sent: Timestamp,
        received: Timestamp,
        answer: Result<Renewed, Fault>,
    ) {
        let (answer, fault) = match answer {
            Ok(answer) => (answer, None),
            Err(fault) => (Renewed::Unknown, Some(fault)),
        };
        let mut state = self.lock();
        state.renewal_failed(fault);
        // The holder may have learned of its loss while the answer was under way.
        let received = received.max(self.context.now());
        let renewed = matches!(answer, Renewed::Renewed { .. }) && !state.hold.ended();
        let left = renewed.then(|| state.hold.lease_left(received));
        // A holder may have seen the risk before the engine did.
        let before = Self::take_risk_change(&mut state, received);
        state.hold.renewal_answered(sent, received, answer);
        if state.hold.ended() {
            return;
        }
        let after = Self::take_risk_change(&mut state, received);
        match state.hold.next_action(received) {
            Action::TellLost(reason) => self.lose(state, received, reason),
            Action::Renew | Action::PassOn | Action::WaitUntil(_) => {
                self.schedule_check(&mut state, received);
                drop(state);
            }
        }
        before.iter().chain(&after).for_each(|risk| self.tell_risk(risk));
        if let Some((left, length)) = left {
            self.context.observer.record_margin(self.name_use().series, left, length);
        }
    }
}

impl Lease {
    pub(super) fn schedule_check(self: &Arc<Self>, state: &mut State, now: Timestamp) {
        drop(self.schedule_check_quietly(state, now));
    }

    pub(super) fn schedule_check_quietly(
        self: &Arc<Self>,
        state: &mut State,
        now: Timestamp,
    ) -> WakeOnDrop<'_> {
        self.cancel_check(state);
        let at = match state.hold.next_action(now) {
            Action::WaitUntil(at) => at,
            Action::Renew | Action::PassOn | Action::TellLost(_) => now,
        };
        let (key, wakes) = self.context.agenda.schedule_quietly(at, Job::Watch(self.clone()));
        state.scheduled = Some(key);
        wakes
    }

    pub(super) fn cancel_check(&self, state: &mut State) {
        if let Some(key) = state.scheduled.take() {
            self.context.agenda.cancel(key);
        }
    }
}
