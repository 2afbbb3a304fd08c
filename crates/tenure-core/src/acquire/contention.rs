//! One contender at the store: from its first request to a guard, an error, or a busy name.

use std::{sync::Arc, time::Duration};

use tenure_proto::{
    Backoff, Timestamp,
    queue::{Answer, Ask, Intent, Mode, Order},
    rule::{Rule, kept},
};

use super::{
    Acquirer,
    full::{FullQueueProbe, FullQueues},
};
use crate::{
    AcquireError, Fault, FaultKind, LockName, Store,
    acquisition::{
        Acquisition, ValidGrant,
        guard::Guard,
        lease::{HandoverState, Lease},
    },
    context::StoreContext,
    driver::{timeout_at_with, wait_for_wakeup},
    engine::Slot,
    local::QueueHead,
    name_use::NameUse,
    observe::{SeriesId, StoreCall, Waiting, failure},
    options::{Busy, ValidatedSettings},
};

/// The longest wait for one answer before the store is asked again.
pub(crate) const LONGEST_CALL: Duration = Duration::from_secs(5);

/// How long before the end of a wait the store is no longer asked without a hint, at the longest.
const LAST_REQUEST: Duration = Duration::from_millis(100);

/// How a contention ended.
pub(crate) enum ContentionOutcome {
    /// With the lock.
    Acquired(Guard),
    /// Another holder has the lock.
    Busy(Busy),
}

/// One contender of this process at the store. Dropping it leaves the queue of the process, and the next task continues
/// with its position in the store's queue.
pub(crate) struct Contention<'a> {
    context: &'a Arc<StoreContext>,
    full: &'a FullQueues,
    name: &'a LockName,
    settings: &'a ValidatedSettings,
    /// Whether it keeps a position in the store while the lock is busy. The acquisition has that position.
    intent: Intent,
    asked: Timestamp,
    give_up: Timestamp,
    head: Option<QueueHead<Lease>>,
    acquisition: Option<Box<Acquisition>>,
    backoff: Backoff,
    /// How long the store took to answer that the lock is busy.
    answer_time: Duration,
    /// Since when requests fail, and why the last one did.
    failing: Option<(Timestamp, Fault)>,
    /// A grant came too late, and is being taken back.
    granted_late: bool,
    seen: Busy,
    /// Whether it is counted as one that found the lock busy.
    pub(super) contended: bool,
    /// It is counted as waiting as long as this exists.
    pub(super) waits: Option<Waiting>,
}

/// The outcome of one request.
enum AskOutcome {
    Done(ContentionOutcome),
    AskAgain { at: Timestamp },
}

impl<'a> Contention<'a> {
    pub(crate) fn new(
        Acquirer { context, full, .. }: &'a Acquirer,
        name: &'a LockName,
        settings: &'a ValidatedSettings,
        intent: Intent,
        asked: Timestamp,
        give_up: Timestamp,
        head: Option<QueueHead<Lease>>,
    ) -> Self {
        let begun = head.as_ref().and_then(|head| head.take_handover(|along| along.begun.take()));
        Self {
            acquisition: begun,
            context,
            full,
            name,
            settings,
            intent,
            asked,
            give_up,
            head,
            backoff: Backoff::new(Duration::from_millis(5), Duration::from_secs(1)),
            answer_time: Duration::ZERO,
            failing: None,
            granted_late: false,
            seen: Busy { name: name.clone(), holder: None, ahead: 0, here: false },
            contended: false,
            waits: None,
        }
    }

    /// Asks until the lock is acquired or the wait is over. One that only tries asks once and keeps no position.
    pub(crate) async fn run(&mut self, slot: Slot) -> Result<ContentionOutcome, AcquireError> {
        let (mut slot, tries) = (Some(slot), self.is_try());
        // A contender that asks for its process is not new, and one that has a position keeps it.
        let mut comes = !tries && self.head.is_none();
        let mut turn = if comes { self.wait_to_ask().await? } else { None };
        loop {
            if self.acquisition.is_none() {
                let slot = match slot.take() {
                    Some(slot) => slot,
                    None => self.context.reserve(self.name)?,
                };
                let acquisition = Acquisition::new(self.context, self.observed(), slot, !tries)?;
                self.acquisition = Some(Box::new(acquisition));
            }
            let sent = self.context.now();
            let answer = self.ask(sent).await;
            self.record_call(sent, answer.as_ref());
            if std::mem::take(&mut comes) {
                let clock = &*self.context.clock;
                self.full.record_answer(|| self.queue_key(), turn.take(), answer.as_ref(), clock);
            }
            let at = match self.handle_answer(sent, answer)? {
                AskOutcome::Done(outcome) => return Ok(outcome),
                // A hint is worth a request at any time.
                AskOutcome::AskAgain { at } if at < self.last_request() => at,
                AskOutcome::AskAgain { .. } => self.give_up,
            };
            if let Some(acquisition) = &mut self.acquisition {
                self.head.iter().for_each(|head| head.record_wait(at));
                wait_for_wakeup(&*self.context.clock, at, acquisition.wakeups()).await;
            }
            if self.context.now() >= self.give_up {
                return self.finish_timed_out();
            }
        }
    }

    /// From when on no request is worth sending without a hint: its answer would come after the wait, and leave it in doubt
    /// whether the lock was acquired.
    fn last_request(&self) -> Timestamp {
        if self.failing.is_some() {
            return self.give_up;
        }
        // One answer takes longer than another.
        let ahead = self.answer_time.saturating_mul(2).min(LAST_REQUEST);
        self.give_up.saturating_sub(ahead)
    }

    /// The name, as an observer needs it.
    fn observed(&self) -> (SeriesId, &'a LockName) {
        (self.settings.series, self.name)
    }

    /// It waits from now on, unless it only tries.
    fn begin_wait(&mut self) {
        if self.waits.is_none() && !self.is_try() {
            let series = self.settings.series;
            self.waits = Some(self.context.observer.begin_wait(series, self.asked));
        }
    }

    fn is_try(&self) -> bool {
        self.intent == Intent::Try
    }

    /// Waits until this contender may ask, if others were refused a moment ago.
    async fn wait_to_ask(&self) -> Result<Option<FullQueueProbe>, AcquireError> {
        let clock = &*self.context.clock;
        let turn =
            self.full.wait_for_turn(clock, self.asked, || self.queue_key(), self.give_up).await;
        turn.map_err(|fault| self.report_fault(fault))
    }

    fn queue_key(&self) -> (NameUse, Mode) {
        (self.settings.name_use(self.name), self.settings.mode)
    }

    /// Sends one request; `None` if no answer came while it could still be used.
    async fn ask(&mut self, sent: Timestamp) -> Option<Result<Answer, Fault>> {
        let ttl = self.settings.terms.for_store();
        let order = preferred_order(&*self.context.store);
        let acquisition = self.acquisition.as_mut()?;
        let ask = Ask {
            owner: acquisition.owner(),
            kind: self.settings.kind,
            mode: self.settings.mode,
            order,
            intent: match self.intent {
                Intent::Try => Intent::Try,
                Intent::Wait { .. } => Intent::Wait { position: acquisition.position() },
            },
            ttl,
            label: self.settings.label.clone(),
        };
        acquisition.begin_call(sent, ttl);
        // An answer that comes later than one ttl could only be a grant that is over. With a long
        // ttl, it helps to ask again sooner, which is harmless.
        let useful = sent.saturating_add(ttl.min(LONGEST_CALL));
        let until = if self.intent == Intent::Try { useful } else { useful.min(self.give_up) };
        let StoreContext { store, clock, .. } = &**self.context;
        let over = |along: &mut HandoverState| {
            let over = along.over.as_mut()?;
            over.set_believed(false);
            Some(over.owner())
        };
        let leaving = self.head.as_ref().and_then(|head| head.take_handover(over));
        let waits = || self.head.iter().for_each(|head| head.record_wait(until));
        match leaving {
            Some(owner) => {
                timeout_at_with(&**clock, until, store.turn(self.name, &owner, &ask), waits).await
            }
            None => timeout_at_with(&**clock, until, store.acquire(self.name, &ask), waits).await,
        }
    }

    fn record_call(&self, sent: Timestamp, answer: Option<&Result<Answer, Fault>>) {
        let took = self.context.now().since(sent);
        self.context.observer.record_call(StoreCall::Acquire, took, failure(answer));
    }

    /// Processes an answer, or a missing one.
    fn handle_answer(
        &mut self,
        sent: Timestamp,
        answer: Option<Result<Answer, Fault>>,
    ) -> Result<AskOutcome, AcquireError> {
        let received = self.context.now();
        match answer {
            Some(Ok(Answer::Granted { token, left, .. })) => {
                self.confirm_earlier_release();
                let granted = ValidGrant::new(token, left, self.settings.terms, sent, received);
                // Dropping it takes back a grant that came too late. The next request has another
                // acquisition.
                let Some((acquisition, granted)) = self.acquisition.take().zip(granted) else {
                    self.granted_late = true;
                    return self.handle_fault(sent, received, too_late());
                };
                let waited = received.since(self.asked);
                self.context.observer.record_acquired(self.observed(), token, waited);
                let (head, request) = (self.head.take(), &self.settings.request());
                let held =
                    Lease::start(self.context, self.name, *acquisition, granted, request, head);
                Ok(AskOutcome::Done(ContentionOutcome::Acquired(Guard::new(held))))
            }
            Some(Ok(Answer::Busy { retry_after, ahead, holder, position })) => {
                self.confirm_earlier_release();
                self.begin_wait();
                (self.failing, self.answer_time) = (None, received.since(sent));
                self.backoff.reset();
                if !self.contended {
                    self.contended = true;
                    self.context.observer.record_contended(self.observed());
                }
                if let Some(acquisition) = &mut self.acquisition {
                    acquisition.record_busy(position);
                }
                (self.seen.holder, self.seen.ahead) = (holder, ahead);
                if self.is_try() {
                    return Ok(AskOutcome::Done(ContentionOutcome::Busy(self.seen.clone())));
                }
                if let Some(on_busy) = &self.settings.on_busy {
                    on_busy(&self.seen);
                }
                self.head.iter().for_each(|head| head.record_holder(self.seen.holder.clone()));
                Ok(AskOutcome::AskAgain { at: received.saturating_add(retry_after) })
            }
            Some(Err(fault)) => self.handle_fault(sent, received, fault),
            None => {
                if !kept(Rule::SilenceIsDoubt) {
                    if let Some(acquisition) = &mut self.acquisition {
                        acquisition.forget();
                    }
                    return Ok(AskOutcome::Done(ContentionOutcome::Busy(self.seen.clone())));
                }
                // The error of earlier requests says more than that the last one was cut off.
                let earlier = self.failing.as_ref().map(|(_, fault)| fault.clone().into_in_doubt());
                self.handle_fault(sent, received, earlier.unwrap_or_else(unanswered))
            }
        }
    }

    fn handle_fault(
        &mut self,
        sent: Timestamp,
        received: Timestamp,
        fault: Fault,
    ) -> Result<AskOutcome, AcquireError> {
        if fault.kind() != FaultKind::InDoubt
            && let Some(acquisition) = &mut self.acquisition
        {
            acquisition.record_no_effect();
        }
        let before = self.failing.take().map(|(since, _)| since);
        let since = before.unwrap_or(sent);
        let patience = self.settings.terms.ttl.get();
        let over = self.is_try() || received.since(since) >= patience || received >= self.give_up;
        if over || !fault.is_transient() {
            if let Some(acquisition) = &mut self.acquisition
                && !kept(Rule::DoubtfulGrantTakenBack)
            {
                acquisition.forget();
            }
            return Err(self.report_fault(fault));
        }
        if before.is_none()
            && let Some(on_unreachable) = &self.settings.on_unreachable
        {
            on_unreachable(&fault);
        }
        self.begin_wait();
        self.failing = Some((since, fault));
        let gap = self.backoff.next(self.context.entropy.jitter());
        Ok(AskOutcome::AskAgain { at: received.saturating_add(gap) })
    }

    /// The wait is over. If the last requests failed, their fault is returned, because the lock may have been acquired
    /// anyway.
    fn finish_timed_out(&mut self) -> Result<ContentionOutcome, AcquireError> {
        match self.failing.take() {
            Some((_, fault)) => Err(self.report_fault(fault)),
            None => Ok(ContentionOutcome::Busy(self.seen.clone())),
        }
    }

    /// Whether a call may have had an effect, including a call of the task that had this position before.
    fn is_in_doubt(&self) -> bool {
        let (one, now) = (self.acquisition.as_ref(), self.context.now());
        self.granted_late || one.is_some_and(|acquisition| acquisition.is_in_doubt(now))
    }

    fn report_fault(&self, fault: Fault) -> AcquireError {
        let fault = if self.is_in_doubt() { fault.into_in_doubt() } else { fault };
        let error = AcquireError::store(self.context.address(self.name), fault);
        self.context.observer.record_failed(self.observed(), &error);
        error
    }

    /// The store answered a turn, so it has released the earlier lease.
    fn confirm_earlier_release(&self) {
        let over =
            self.head.as_ref().and_then(|head| head.take_handover(|along| along.over.take()));
        if let Some(mut over) = over {
            over.released();
        }
    }
}

/// The order in which a store is asked: the one that passes no contender, if the store has a queue.
pub(crate) fn preferred_order(store: &dyn Store) -> Order {
    if store.capabilities().fifo { Order::Fifo } else { Order::Barging }
}

pub(crate) fn too_late() -> Fault {
    Fault::new(
        FaultKind::InDoubt,
        "the store granted the lock when its lease was nearly over",
        "choose a longer ttl, or see why the store is slow; what was acquired is taken back",
    )
}

pub(crate) fn unanswered() -> Fault {
    Fault::new(
        FaultKind::InDoubt,
        "the store did not answer, so the lock may have been acquired",
        "check that the store can be reached and try again; what was acquired is taken back",
    )
}

impl Drop for Contention<'_> {
    fn drop(&mut self) {
        if let Some(head) = &self.head {
            let begun = self.acquisition.take();
            head.with_handover_state(|along| along.begun = begun);
        }
    }
}
