//! One lease of the store as this process has it.

mod downgrading;
mod ending;
mod held;
mod losing;
mod requested;
mod state;
mod watching;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

pub(crate) use downgrading::DowngradeOutcome;
pub(crate) use held::LeaseHold;
use state::State;
use tenure_proto::{
    LostReason, Owner, Terms, Timestamp, Token,
    hold::Action,
    queue::{Contender, Kind, Label, Mode},
    rule::{Rule, kept},
};

use super::{Acquisition, ValidGrant};
use crate::{
    Fault, LockName,
    context::StoreContext,
    driver::before,
    error::Lost,
    local::{QueueHead, Transferable},
    names::NameUse,
    options::HoldRequest,
};

/// What goes along with the head of a queue from task to task.
#[derive(Debug, Default)]
pub(crate) struct HandoverState {
    /// One that another task began, with its place in the store's queue.
    pub(crate) begun: Option<Box<Acquisition>>,
    /// One whose hold is over, to be let go in the same step.
    pub(crate) over: Option<Box<Acquisition>>,
}

/// A lease, which inside this process is split into holds: each guard names the generation of its
/// own, so it cannot touch a later one (promise [S4](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s4-only-your-own)).
///
/// A process may have a hundred thousand of them, so nothing is kept twice.
#[derive(Debug)]
pub(crate) struct Lease {
    context: Arc<StoreContext>,
    owner: Owner,
    line: LeaseQueue,
    state: Mutex<State>,
}

/// Where the tasks of its process queue for it.
#[derive(Debug)]
enum LeaseQueue {
    /// It has the head of the queue of this name.
    Head(QueueHead<Lease>),
    /// At the store alone: a fair lock of this name.
    Apart(NameUse),
}

/// How a hold ended.
pub(crate) enum EndOutcome {
    /// A task of this process has the lease now, or asks the store for its turn.
    HandedOver,
    /// It had been lost before.
    Lost(Lost),
    /// The store is to be told.
    Leaving(Box<Acquisition>),
}

/// What is to be expected of a hold.
enum HoldStatus {
    HeldUntil(Timestamp),
    Lost(LostReason),
    /// It was released or passed on.
    Over,
}

impl Lease {
    /// A lease that the store has just granted.
    pub(crate) fn start(
        context: &Arc<StoreContext>,
        name: &LockName,
        acquisition: Acquisition,
        ValidGrant { hold, token, received: now }: ValidGrant,
        request: &HoldRequest,
        head: Option<QueueHead<Self>>,
    ) -> LeaseHold {
        let owner = acquisition.owner();
        let (slot, tainted_until) = acquisition.granted();
        let uses = || NameUse { name: name.clone(), kind: request.kind };
        let lease = Arc::new(Self {
            context: context.clone(),
            owner,
            line: head.map_or_else(|| LeaseQueue::Apart(uses()), LeaseQueue::Head),
            state: Mutex::new(State {
                hold,
                token,
                mode: request.mode,
                slot,
                scheduled: None,
                held_since: now,
                keep_until: now.saturating_add(request.hold_at_least),
                label: request.label.clone(),
                told_lost: false,
                rare: None,
            }),
        });
        if let Some(head) = lease.head() {
            head.granted(Arc::downgrade(&lease), now);
        }
        let mut state = lease.lock();
        if tainted_until > now {
            state.taint(tainted_until);
        }
        lease.plan(&mut state, now);
        drop(state);
        LeaseHold::new(lease, 0, token)
    }

    pub(crate) fn name(&self) -> &LockName {
        &self.uses().name
    }

    fn uses(&self) -> &NameUse {
        match &self.line {
            LeaseQueue::Head(head) => head.name(),
            LeaseQueue::Apart(name) => name,
        }
    }

    fn head(&self) -> Option<&QueueHead<Self>> {
        match &self.line {
            LeaseQueue::Head(head) => Some(head),
            LeaseQueue::Apart(_) => None,
        }
    }

    pub(crate) fn context(&self) -> &Arc<StoreContext> {
        &self.context
    }

    pub(crate) fn deadline(&self) -> Timestamp {
        self.lock().hold.deadline()
    }

    pub(crate) fn owner(&self) -> Owner {
        self.owner
    }

    /// What the name is used as, and how it is held.
    pub(crate) fn used_as(&self) -> (Kind, Mode) {
        (self.uses().kind, self.lock().mode)
    }

    /// What was asked for it, and by whom.
    pub(crate) fn asked(&self) -> (Terms, Label) {
        let state = self.lock();
        (state.hold.terms(), state.label.clone())
    }

    /// Whether the hold of `generation` may still be counted on, at this very moment.
    pub(crate) fn check(&self, generation: u32) -> Result<Token, LostReason> {
        if self.context.is_forked() {
            return Err(LostReason::Taken);
        }
        self.standing(generation)
    }

    /// The same without asking whether this process is a forked copy, which takes as long as all
    /// the rest.
    pub(crate) fn standing(&self, generation: u32) -> Result<Token, LostReason> {
        let state = self.lock();
        if state.hold.generation() != generation {
            return Err(LostReason::Taken);
        }
        let now = self.context.now();
        match state.hold.next_action(now) {
            Action::TellLost(reason) if kept(Rule::HolderStopsAtDeadline) => {
                self.lose(state, now, reason);
                Err(reason)
            }
            _ => Ok(state.token),
        }
    }

    /// Takes the hold of `generation`, which was passed on to a task by this `request`; `false` if it
    /// is over, as it was not taken in time, or was lost.
    fn claim(self: &Arc<Self>, generation: u32, request: &HoldRequest) -> bool {
        let now = self.context.now();
        let mut state = self.lock();
        if state.hold.generation() != generation || !state.hold.claim(now) {
            return false;
        }
        state.held_since = now;
        state.keep_until = now.saturating_add(request.hold_at_least);
        // The engine looks when the claim window ends: in time, but for what is due before that.
        let due = match state.hold.next_action(now) {
            Action::WaitUntil(at) => at,
            Action::Renew | Action::PassOn | Action::TellLost(_) => now,
        };
        if state.scheduled.is_none_or(|(at, _)| due < at) {
            self.plan(&mut state, now);
        }
        true
    }

    /// If the hold of `generation` lasts, it does so for at most `max_hold` from now on, and the name
    /// stays taken for `hold_at_least`.
    pub(crate) fn count_from_now(
        self: &Arc<Self>,
        generation: u32,
        max_hold: Option<Duration>,
        hold_at_least: Duration,
    ) {
        let now = self.context.now();
        let mut state = self.lock();
        if state.hold.generation() != generation {
            return;
        }
        state.keep_until = now.saturating_add(hold_at_least);
        if max_hold.is_some() {
            state.hold.bound(now, max_hold);
            self.plan(&mut state, now);
        }
    }

    /// The name is not kept taken after the hold of `generation`.
    pub(crate) fn cancel_hold_at_least(&self, generation: u32) {
        let mut state = self.lock();
        if state.hold.generation() == generation {
            state.keep_until = Timestamp::ZERO;
        }
    }

    /// The hold with this token is lost, as the holder is told.
    pub(crate) fn loss(&self, token: Token, reason: LostReason) -> Lost {
        let failure = self.last_renewal_error();
        self.loss_in(failure, token, reason)
    }

    /// The same where the state is locked, which knows the `failure`.
    fn loss_in(&self, failure: Option<Arc<Fault>>, token: Token, reason: LostReason) -> Lost {
        let lost = self.context.lost(self.name(), token, reason);
        match failure {
            Some(fault) if reason == LostReason::Deadline => lost.because(fault),
            _ => lost,
        }
    }

    /// Why the last renewal failed, if it did.
    pub(crate) fn last_renewal_error(&self) -> Option<Arc<Fault>> {
        self.lock().last_renewal_error()
    }

    /// Returns when the hold of `generation` is lost; never if it is released or passed on.
    pub(crate) async fn lost(&self, generation: u32, token: Token) -> Lost {
        let news = self.lock().rare.get_or_insert_default().news.clone();
        loop {
            let news = news.notified();
            let mut news = std::pin::pin!(news);
            news.as_mut().enable();
            match self.outlook(generation) {
                HoldStatus::Lost(reason) if kept(Rule::LossIsTold) => {
                    return self.loss(token, reason);
                }
                HoldStatus::Lost(_) | HoldStatus::Over => std::future::pending().await,
                // The engine tells; the caller's own timer is there should the engine be starved.
                HoldStatus::HeldUntil(deadline) => {
                    before(&*self.context.clock, deadline, news).await;
                }
            }
        }
    }

    fn outlook(&self, generation: u32) -> HoldStatus {
        let state = self.lock();
        if state.hold.ended() || state.hold.generation() != generation {
            return HoldStatus::Over;
        }
        let now = self.context.now();
        match state.hold.next_action(now) {
            Action::TellLost(reason) => {
                self.lose(state, now, reason);
                HoldStatus::Lost(reason)
            }
            Action::Renew | Action::PassOn | Action::WaitUntil(_) => {
                HoldStatus::HeldUntil(state.hold.deadline())
            }
        }
    }

    /// The next task of the process is not to wait for this lease any more.
    fn leave_queue(&self) {
        if let Some(head) = self.head() {
            head.leave();
        }
    }

    /// Locked after the queues of the process, never before them.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transferable for Lease {
    type Hold = LeaseHold;
    type HandoverState = HandoverState;

    fn contender(&self) -> Option<Contender> {
        let now = self.context.now();
        let state = self.lock();
        if state.hold.ended() || matches!(state.hold.next_action(now), Action::TellLost(_)) {
            return None;
        }
        let held = u64::try_from(now.since(state.held_since).as_micros()).unwrap_or(u64::MAX);
        let mut contender = Contender::new(&*state.label, state.mode);
        contender.token = Some(state.token);
        contender.since = Some(self.context.clock.wall().saturating_sub(held));
        contender.left = Some(state.hold.deadline().since(now));
        contender.kind = Some(self.uses().kind);
        Some(contender)
    }
}
