//! How a hold ends: the lease goes to the next task of the process, or the store is told.

use std::{
    sync::{Arc, MutexGuard},
    time::Duration,
};

use tenure_proto::{
    LostReason, Timestamp,
    hold::Action,
    turn::{AtRelease, Next},
};

use super::{Ended, Held, Lease, State};
use crate::{
    acquisition::{Acquisition, End},
    handover::Lead,
    options::Wants,
};

impl Lease {
    /// Ends the hold of `generation`: it goes to the next task of this process, or the store is to
    /// be told.
    pub(crate) fn end(self: &Arc<Self>, generation: u64) -> Ended {
        let now = self.context.now();
        let state = self.lock();
        let over = state.hold.generation() != generation;
        // A forked copy holds nothing: the lease is its parent's to end.
        if over || self.context.forked() {
            let lost = self.context.lost(&self.name, state.token, LostReason::Taken);
            return Ended::Lost(lost);
        }
        self.pass_on(state, now)
    }

    /// Ends the present hold, whoever has it.
    pub(super) fn pass_on<'a>(
        self: &'a Arc<Self>,
        mut state: MutexGuard<'a, State>,
        now: Timestamp,
    ) -> Ended {
        if let Action::TellLost(reason) = state.hold.next_action(now) {
            let lost = self.context.lost(&self.name, state.token, reason);
            let acquisition = self.leave(&mut state, Timestamp::ZERO);
            let lead = state.lead.take();
            drop(state);
            drop((acquisition, lead));
            return Ended::Lost(lost);
        }
        let (token, held_for) = (state.token, now.since(state.held_since));
        let was_held = state.hold.claimed();
        // Nobody can take it from here on, also while the lease is not locked.
        state.hold.let_go();
        if was_held {
            drop(state);
            self.context.observer.released(&self.name, token, held_for);
            state = self.lock();
        }
        let lead = state.lead.take();
        let keep_until = state.keep_until;
        if let Some(lead) = lead {
            drop(state);
            if keep_until <= now {
                if self.hand_over(lead) {
                    return Ended::HandedOver;
                }
            } else {
                // The name stays taken for the tasks of this process too: the next one waits for
                // it like everybody else.
                drop(lead);
            }
            state = self.lock();
        }
        match self.leave(&mut state, keep_until) {
            Some(acquisition) => Ended::Leaving(acquisition),
            // It was lost while the lease was not locked: whoever noticed tells the store.
            None => Ended::Lost(self.context.lost(&self.name, token, LostReason::MaxHold)),
        }
    }

    /// Ends the hold of `generation` without telling the store.
    pub(crate) fn abandon(self: &Arc<Self>, generation: u64) -> Duration {
        let mut state = self.lock();
        let over = state.hold.generation() != generation;
        if over || self.context.forked() {
            return Duration::ZERO;
        }
        let rest = state.hold.deadline().since(self.context.now());
        state.hold.end();
        self.unplan(&mut state);
        let left_behind = (state.lead.take(), state.acquisition.take());
        drop(state);
        drop(left_behind);
        rest
    }

    /// Gives the lease to the next task that waits in this process, or lets that task ask the store
    /// for its turn; `false` if nobody waits, and then the name is nobody's in this process.
    fn hand_over(self: &Arc<Self>, mut lead: Lead) -> bool {
        loop {
            let Some(waiter) = lead.next() else { return false };
            match self.pass_to(&waiter.wants, lead) {
                Ok(held) => {
                    let generation = held.generation();
                    let Err(unwanted) = waiter.give(held) else { return true };
                    unwanted.forget();
                    // It was put there a moment ago. A loss takes it away, and so does the engine
                    // where the claim window is over: both pass it on as well.
                    let mut state = self.lock();
                    if state.hold.generation() != generation {
                        return true;
                    }
                    state.hold.let_go();
                    let Some(back) = state.lead.take() else { return true };
                    lead = back;
                }
                Err(lead) => {
                    waiter.lead(lead);
                    return true;
                }
            }
        }
    }

    /// Passes the lease on to the next task of this process, which wants `wants`: `Ok` with its hold,
    /// or `Err` with the lead, which takes the lease along to be let go in the store.
    fn pass_to(self: &Arc<Self>, wants: &Wants, mut lead: Lead) -> Result<Held, Lead> {
        let now = self.context.now();
        let mut state = self.lock();
        let at = AtRelease {
            now,
            token: state.token,
            deadline: state.hold.deadline_for(&wants.terms),
            next_ttl: wants.terms.ttl,
            renewal_unanswered: state.hold.renewal_unanswered(),
            pass_bits: self.context.store.capabilities().pass_bits,
        };
        // The engine may have heard of a loss since the last task let go.
        let lost = matches!(state.hold.next_action(now), Action::TellLost(_));
        let next = if lost { Next::Turn } else { state.turn.at_release(at) };
        let Next::Pass(token) = next else {
            lead.cargo.over = self.leave(&mut state, Timestamp::ZERO);
            return Err(lead);
        };
        state.hold.pass(now, wants.terms, self.context.claim_window());
        state.token = token;
        state.label = wants.label.clone();
        state.held_since = now;
        state.lead = Some(lead);
        self.plan(&mut state, now);
        let generation = state.hold.generation();
        drop(state);
        self.news.notify_waiters();
        self.context.observer.passed(&self.name, token);
        Ok(Held::new(self.clone(), generation, token))
    }

    fn leave(&self, state: &mut State, keep_until: Timestamp) -> Option<Box<Acquisition>> {
        state.hold.end();
        if state.hold.ended() {
            self.unplan(state);
        }
        self.depart(state, keep_until)
    }

    /// What the store is to be told, if it was not told before.
    pub(super) fn depart(
        &self,
        state: &mut State,
        keep_until: Timestamp,
    ) -> Option<Box<Acquisition>> {
        let mut acquisition = state.acquisition.take()?;
        // The store keeps the lease until its own end, also where the hold ended before.
        let terms = state.hold.terms();
        let until = state.hold.deadline_for(&terms).saturating_add(terms.grace.rounded());
        acquisition.ends(End { token: state.token, until, keep_until });
        Some(acquisition)
    }
}
