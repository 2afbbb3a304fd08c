//! One lease of the store as this process has it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tenure_proto::{
    Hold, LostReason, Owner, Renewed, Timestamp, Token,
    hold::Action,
    rule::{Rule, kept},
    turn::{AtRelease, Next, Turn},
};
use tokio::sync::Notify;

use crate::{
    LockName,
    context::Context,
    departure::Departure,
    driver::before,
    engine::{Job, Key, Slot},
    error::Lost,
    handover::{Lead, Waiter},
    store::Renewal,
    ticket::Granted,
};

/// A lease, which inside this process is split into holds: each guard names the generation of its
/// own, so it cannot touch a later one (promise S4).
#[derive(Debug)]
pub(crate) struct Lease {
    context: Arc<Context>,
    name: LockName,
    owner: Owner,
    state: Mutex<State>,
    news: Notify,
}

#[derive(Debug)]
struct State {
    hold: Hold,
    token: Token,
    turn: Turn,
    /// The right to choose who in this process comes next; none for a fair lock.
    lead: Option<Lead>,
    slot: Option<Slot>,
    scheduled: Option<Key>,
    tainted_until: Timestamp,
    held_since: Timestamp,
    keep_until: Timestamp,
}

/// What the engine is to do for a lease.
pub(crate) enum Due {
    /// Send this renewal.
    Renew(Renewal),
    /// Nothing now.
    Nothing,
}

/// What is to be expected of a hold.
enum Outlook {
    HeldUntil(Timestamp),
    Lost(LostReason),
    /// It was released or passed on.
    Over,
}

/// How a hold ended.
pub(crate) enum Ended {
    /// A task of this process has the lease now, or asks the store for its turn.
    HandedOver,
    /// It had been lost before.
    Lost(Lost),
    /// The store is to be told.
    Leaving(Departure),
}

impl Lease {
    /// A lease that the store has just granted.
    pub(crate) fn start(
        context: &Arc<Context>,
        name: &LockName,
        granted: Granted,
        (hold, token): (Hold, Token),
        hold_at_least: Duration,
        lead: Option<Lead>,
    ) -> Arc<Self> {
        let now = context.now();
        let lease = Arc::new(Self {
            context: context.clone(),
            name: name.clone(),
            owner: granted.owner,
            state: Mutex::new(State {
                hold,
                token,
                turn: Turn::begin(now),
                lead,
                slot: granted.slot,
                scheduled: None,
                tainted_until: granted.tainted_until,
                held_since: now,
                keep_until: now.saturating_add(hold_at_least),
            }),
            news: Notify::new(),
        });
        let mut state = lease.lock();
        lease.plan(&mut state, now);
        drop(state);
        lease
    }

    pub(crate) fn name(&self) -> &LockName {
        &self.name
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub(crate) fn generation(&self) -> u64 {
        self.lock().hold.generation()
    }

    pub(crate) fn token(&self) -> Token {
        self.lock().token
    }

    pub(crate) fn deadline(&self) -> Timestamp {
        self.lock().hold.deadline()
    }

    /// Whether the hold of `generation` may still be counted on, at this very moment.
    pub(crate) fn check(&self, generation: u64) -> Result<Token, LostReason> {
        if self.context.forked() {
            return Err(LostReason::Taken);
        }
        let state = self.lock();
        if kept(Rule::GenerationChecked) && state.hold.generation() != generation {
            return Err(LostReason::Taken);
        }
        match state.hold.next_action(self.context.now()) {
            Action::TellLost(reason) if kept(Rule::HolderStopsAtDeadline) => Err(reason),
            _ => Ok(state.token),
        }
    }

    /// Returns when the hold of `generation` is lost; never if it is released or passed on.
    pub(crate) async fn lost(&self, generation: u64, token: Token) -> Lost {
        loop {
            let news = self.news.notified();
            let mut news = std::pin::pin!(news);
            news.as_mut().enable();
            match self.outlook(generation) {
                Outlook::Lost(reason) => return self.context.lost(&self.name, token, reason),
                Outlook::Over => std::future::pending().await,
                // The engine tells; the caller's own timer is there should the engine be starved.
                Outlook::HeldUntil(deadline) => {
                    before(&*self.context.clock, deadline, news).await;
                }
            }
        }
    }

    fn outlook(&self, generation: u64) -> Outlook {
        let state = self.lock();
        if state.hold.ended() || state.hold.generation() != generation {
            return Outlook::Over;
        }
        match state.hold.next_action(self.context.now()) {
            Action::TellLost(reason) => Outlook::Lost(reason),
            Action::Renew | Action::WaitUntil(_) => Outlook::HeldUntil(state.hold.deadline()),
        }
    }

    /// What the engine has to do for the lease at `now`.
    pub(crate) fn on_time(self: &Arc<Self>, now: Timestamp) -> Due {
        let mut state = self.lock();
        state.scheduled = None;
        match state.hold.next_action(now) {
            _ if state.hold.ended() => Due::Nothing,
            Action::TellLost(reason) => {
                self.lose(state, now, reason);
                Due::Nothing
            }
            Action::WaitUntil(_) => {
                self.plan(&mut state, now);
                Due::Nothing
            }
            Action::Renew => {
                let ttl = state.hold.renewal_length(now);
                state.hold.renewal_sent();
                self.plan(&mut state, now);
                Due::Renew(Renewal { name: self.name.clone(), owner: self.owner, ttl })
            }
        }
    }

    /// The answer to a renewal came.
    pub(crate) fn renewal_answered(
        self: &Arc<Self>,
        sent: Timestamp,
        received: Timestamp,
        answer: Renewed,
    ) {
        let mut state = self.lock();
        state.hold.renewal_answered(sent, received, answer);
        if state.hold.ended() {
            return;
        }
        match state.hold.next_action(received) {
            Action::TellLost(reason) => self.lose(state, received, reason),
            Action::Renew | Action::WaitUntil(_) => self.plan(&mut state, received),
        }
    }

    /// Ends the hold of `generation`: it goes to the next task of this process, or the store is to
    /// be told.
    pub(crate) fn end(self: &Arc<Self>, generation: u64) -> Ended {
        let now = self.context.now();
        let mut state = self.lock();
        if state.hold.generation() != generation || state.hold.ended() {
            let lost = self.context.lost(&self.name, state.token, LostReason::Taken);
            return Ended::Lost(lost);
        }
        if let Action::TellLost(reason) = state.hold.next_action(now) {
            let lost = self.context.lost(&self.name, state.token, reason);
            let departure = self.leave(&mut state, Timestamp::ZERO);
            let lead = state.lead.take();
            drop(state);
            drop((departure, lead));
            return Ended::Lost(lost);
        }
        self.context.observer.released(&self.name, state.token, now.since(state.held_since));
        let lead = state.lead.take();
        let keep_until = state.keep_until;
        if let Some(lead) = lead {
            drop(state);
            if keep_until <= now {
                if lead.hand_over(self) {
                    return Ended::HandedOver;
                }
            } else {
                // The name stays taken for the tasks of this process too: the next one waits for
                // it like everybody else.
                drop(lead);
            }
            state = self.lock();
        }
        self.leave(&mut state, keep_until).map_or(Ended::HandedOver, Ended::Leaving)
    }

    /// Ends the hold of `generation` without telling the store.
    pub(crate) fn abandon(self: &Arc<Self>, generation: u64) -> Duration {
        let mut state = self.lock();
        if state.hold.generation() != generation || state.hold.ended() {
            return Duration::ZERO;
        }
        let rest = state.hold.deadline().since(self.context.now());
        state.hold.end();
        self.unplan(&mut state);
        let left_behind = (state.lead.take(), state.slot.take());
        drop(state);
        drop(left_behind);
        rest
    }

    /// Passes the lease on to `waiter`, who is next in this process: `Ok` with the generation of its
    /// hold, or `Err` with the lead, which takes the lease along to be let go in the store.
    pub(crate) fn pass_to(self: &Arc<Self>, waiter: &Waiter, mut lead: Lead) -> Result<u64, Lead> {
        let now = self.context.now();
        let mut state = self.lock();
        let at = AtRelease {
            now,
            token: state.token,
            deadline: state.hold.deadline_for(&waiter.terms),
            next_ttl: waiter.terms.ttl,
            renewal_unanswered: state.hold.renewal_unanswered(),
            pass_bits: self.context.store.capabilities().pass_bits,
        };
        let next = state.turn.at_release(at);
        let Next::Pass(token) = next else {
            lead.departure = self.leave(&mut state, Timestamp::ZERO).map(Box::new);
            return Err(lead);
        };
        state.hold.pass(now, waiter.terms);
        state.token = token;
        state.held_since = now;
        state.keep_until = now.saturating_add(waiter.hold_at_least);
        state.lead = Some(lead);
        self.plan(&mut state, now);
        let generation = state.hold.generation();
        drop(state);
        self.news.notify_waiters();
        self.context.observer.passed(&self.name, token);
        Ok(generation)
    }

    /// Takes the lead back from a hold that nobody received.
    pub(crate) fn take_lead(&self) -> Option<Lead> {
        self.lock().lead.take()
    }

    fn leave(&self, state: &mut State, keep_until: Timestamp) -> Option<Departure> {
        let until = state.hold.deadline().max(keep_until);
        state.hold.end();
        if state.hold.ended() {
            self.unplan(state);
        }
        let slot = state.slot.take()?;
        let tainted_until = state.tainted_until;
        Some(Departure::new(
            &self.context,
            (self.name.clone(), self.owner, state.token),
            slot,
            until,
            keep_until,
            tainted_until,
        ))
    }

    fn lose(&self, mut state: MutexGuard<'_, State>, now: Timestamp, reason: LostReason) {
        state.hold.lose(reason);
        self.unplan(&mut state);
        let lead = state.lead.take();
        let held = now.since(state.held_since);
        let token = state.token;
        drop(state);
        self.news.notify_waiters();
        self.context.observer.lost(&self.context.lost(&self.name, token, reason), held);
        // Whoever is next in this process need not wait for a guard that is worth nothing.
        drop(lead);
    }

    fn plan(self: &Arc<Self>, state: &mut State, now: Timestamp) {
        self.unplan(state);
        let at = match state.hold.next_action(now) {
            Action::WaitUntil(at) => at,
            Action::Renew | Action::TellLost(_) => now,
        };
        state.scheduled = Some(self.context.roster.schedule(at, Job::Watch(self.clone())));
    }

    fn unplan(&self, state: &mut State) {
        if let Some(key) = state.scheduled.take() {
            self.context.roster.cancel(key);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
