//! One lease of the store, as this process sees it.

mod downgrading;
mod ending;
mod held;
mod losing;
mod requested;
mod risk;
mod state;
mod watching;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

pub(crate) use downgrading::DowngradeOutcome;
pub(crate) use held::LeaseHold;
use state::{LossBackground, State};
use tenure_proto::{
    LostReason, Owner, Terms, Timestamp, Token,
    history::{Ending, SlotTry},
    hold::Action,
    queue::{Contender, Kind, Label, Mode},
    rule::{Rule, kept},
};

use super::{Acquisition, ValidGrant};
use crate::{
    Fault, LockName,
    context::StoreContext,
    driver::timeout_at,
    engine::Held,
    error::Lost,
    local::{QueueHead, Transferable},
    name_use::NameUse,
    options::HoldRequest,
};

/// The state that moves with the head of a queue from task to task.
#[derive(Debug, Default)]
pub(crate) struct HandoverState {
    /// An acquisition that another task began, with its position in the store's queue.
    pub(crate) begun: Option<Box<Acquisition>>,
    /// An acquisition whose hold is over, to be released in the same step.
    pub(crate) over: Option<Box<Acquisition>>,
}

/// A lease, which is split into holds inside this process. Each guard names the generation of its hold, so it cannot
/// affect a later one (promise
/// [S4](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s4-only-your-own)).
///
/// A process may have a hundred thousand of them, so nothing is stored twice.
#[derive(Debug)]
pub(crate) struct Lease {
    context: Arc<StoreContext>,
    owner: Owner,
    line: LeaseQueue,
    state: Mutex<State>,
}

/// The queue in which the tasks of its process wait for it.
#[derive(Debug)]
enum LeaseQueue {
    /// The lease has the head of the queue of this name.
    Head(QueueHead<Lease>),
    /// There is none: a fair lock of this name queues in the store.
    Apart(NameUse),
}

/// How a hold ended.
pub(crate) enum EndOutcome {
    /// A task of this process has the lease now, or asks the store for its turn.
    HandedOver,
    /// It had already been lost.
    Lost(Lost),
    /// The store must be notified.
    Leaving(Box<Acquisition>),
}

/// The state of a hold.
enum HoldStatus {
    HeldUntil(Timestamp),
    Lost(LostReason),
    /// It was released or handed over.
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
        let (slot, tainted_until) = acquisition.into_lease_parts();
        let uses = || NameUse { name: name.clone(), kind: request.kind, series: request.series };
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
            head.record_grant(Arc::downgrade(&lease), now);
        }
        context.observer.count_hold(lease.name_use().series, now);
        // From now on the hold ends with this, also if an observer panics.
        let held = LeaseHold::new(lease.clone(), 0, token);
        let mut state = lease.lock();
        if tainted_until > now {
            state.set_late_calls_until(tainted_until);
        }
        lease.schedule_check(&mut state, now);
        if !request.tells_slot {
            context.journal.began(&lease.held_now(&state), now);
        } else if !context.journal.is_empty() {
            state.rare.get_or_insert_default().awaits_slot = true;
        }
        drop(state);
        lease.begin_span(0, request, token);
        held
    }

    /// The hold of now, for the history of its lock.
    fn held_now<'a>(&'a self, state: &'a State) -> Held<'a> {
        let (NameUse { name, kind, .. }, State { mode, label, token, .. }) =
            (self.name_use(), state);
        let (since, slot) = (state.held_since, state.slot_try());
        Held { name, kind: *kind, mode: *mode, label, token: *token, since, slot }
    }

    /// Tells the history of the lock that the hold of `generation` began, and which run of a slot it is for. Nothing was
    /// told of it before: it has no more events than another hold, and one with which no run began has none.
    pub(crate) fn set_slot(&self, generation: u32, slot: SlotTry) {
        if self.context.is_forked() || self.context.journal.is_empty() {
            return;
        }
        let mut state = self.lock();
        if state.hold.generation() != generation {
            return;
        }
        let rare = state.rare.get_or_insert_default();
        (rare.slot_try, rare.awaits_slot) = (Some(slot), false);
        if state.told_lost {
            self.add_ending(&state, Ending::Expired, self.context.now());
        } else {
            self.context.journal.began(&self.held_now(&state), state.held_since);
        }
    }

    /// Reports that the hold of `generation` began, and gives it a span.
    fn begin_span(&self, generation: u32, request: &HoldRequest, token: Token) {
        let (observer, caller) = (&self.context.observer, request.caller.as_deref());
        let span = observer.begin_hold(self.name_use().observed(), caller, token);
        let Some(span) = span else { return };
        let mut state = self.lock();
        if state.hold.generation() == generation && !state.told_lost {
            state.set_span(Some(span));
        }
    }

    pub(crate) fn name(&self) -> &LockName {
        &self.name_use().name
    }

    pub(crate) fn name_use(&self) -> &NameUse {
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

    /// The kind that the name is used as, and the mode in which it is held.
    pub(crate) fn kind_and_mode(&self) -> (Kind, Mode) {
        (self.name_use().kind, self.lock().mode)
    }

    /// The requested terms, and the label.
    pub(crate) fn requested_terms(&self) -> (Terms, Label) {
        let state = self.lock();
        (state.hold.terms(), state.label.clone())
    }

    /// Whether the hold of `generation` may still be counted on, at this very moment.
    pub(crate) fn check(&self, generation: u32) -> Result<Token, LostReason> {
        if self.context.is_forked() {
            return Err(LostReason::Taken);
        }
        self.check_ignoring_fork(generation)
    }

    /// The same without a check for a forked child, which takes as long as all the rest.
    pub(crate) fn check_ignoring_fork(&self, generation: u32) -> Result<Token, LostReason> {
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

    /// Takes the hold of `generation`, which was handed over to a task with this `request`. Returns `false` if it is
    /// over, because it was not taken in time or was lost.
    fn claim(self: &Arc<Self>, generation: u32, request: &HoldRequest) -> bool {
        let now = self.context.now();
        let mut state = self.lock();
        if state.hold.generation() != generation || !state.hold.claim(now) {
            return false;
        }
        state.held_since = now;
        state.keep_until = now.saturating_add(request.hold_at_least);
        // The engine checks at the end of the claim window, which is early enough except for work
        // that is due before.
        let due = match state.hold.next_action(now) {
            Action::WaitUntil(at) => at,
            Action::Renew | Action::PassOn | Action::TellLost(_) => now,
        };
        if state.scheduled.is_none_or(|(at, _)| due < at) {
            self.schedule_check(&mut state, now);
        }
        let token = state.token;
        self.context.observer.count_hold(self.name_use().series, now);
        drop(state);
        self.begin_span(generation, request, token);
        true
    }

    /// If the hold of `generation` exists, limits it to `max_hold` from now on, and keeps the name taken for
    /// `hold_at_least`.
    pub(crate) fn bound_hold_from_now(
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
            self.schedule_check(&mut state, now);
        }
    }

    /// Cancels keeping the name taken after the hold of `generation`.
    pub(crate) fn cancel_hold_at_least(&self, generation: u32) {
        let mut state = self.lock();
        if state.hold.generation() == generation {
            state.keep_until = Timestamp::ZERO;
        }
    }

    /// The error for the loss of the hold with this token.
    pub(crate) fn lost_error(&self, token: Token, reason: LostReason) -> Lost {
        let background = self.lock().loss_background();
        self.lost_error_from(background, token, reason)
    }

    /// The same while the state is locked.
    fn lost_error_from(
        &self,
        background: LossBackground,
        token: Token,
        reason: LostReason,
    ) -> Lost {
        let LossBackground { failure, broken_by } = background;
        let lost = self.context.lost(self.name(), token, reason).broken(broken_by);
        match failure {
            Some(fault) if reason == LostReason::Deadline => lost.because(fault),
            _ => lost,
        }
    }

    /// Why the last renewal failed, if it did.
    pub(crate) fn last_renewal_error(&self) -> Option<Arc<Fault>> {
        self.lock().last_renewal_error()
    }

    /// Returns when the hold of `generation` is lost. Never returns if it is released or handed over.
    pub(crate) async fn wait_until_lost(&self, generation: u32, token: Token) -> Lost {
        let news = self.lock().rare.get_or_insert_default().news.clone();
        loop {
            let news = news.notified();
            let mut news = std::pin::pin!(news);
            news.as_mut().enable();
            match self.hold_status(generation) {
                HoldStatus::Lost(reason) if kept(Rule::LossIsTold) => {
                    return self.lost_error(token, reason);
                }
                HoldStatus::Lost(_) | HoldStatus::Over => std::future::pending().await,
                // The engine reports it. The caller's own timer is for the case that the engine is
                // starved.
                HoldStatus::HeldUntil(deadline) => {
                    timeout_at(&*self.context.clock, deadline, news).await;
                }
            }
        }
    }

    fn hold_status(&self, generation: u32) -> HoldStatus {
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

    /// Lets the next task of the process stop waiting for this lease.
    fn leave_queue(&self) {
        if let Some(head) = self.head() {
            head.leave();
        }
    }

    /// Lock this after the queues of the process, never before them.
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
        contender.kind = Some(self.name_use().kind);
        Some(contender)
    }
}
