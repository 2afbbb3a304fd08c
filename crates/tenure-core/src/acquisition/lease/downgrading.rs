//! Turning an exclusive lease into a shared one.

use std::time::Duration;

use tenure_proto::{
    Backoff, LostReason, Timestamp, Token,
    hold::Action,
    queue::{Answer, Ask, Intent, Mode, Order},
    rule::{Rule, kept},
};

use super::{Lease, LossBackground, State};
use crate::{
    Fault, FaultKind,
    driver::timeout_at,
    error::Lost,
    observe::{StoreCall, failure},
};

/// The longest time for which the store is asked.
const PATIENCE: Duration = Duration::from_secs(2);

/// The outcome of a downgrade.
pub(crate) enum DowngradeOutcome {
    /// The lease is shared.
    Shared,
    /// The store refused: the lease is exclusive.
    Refused(Fault),
    /// The lease is either shared or exclusive.
    InDoubt(Fault),
    /// The lease no longer exists.
    Lost(Lost),
}

impl Lease {
    /// Turns the hold of `generation` into a shared one. Whatever the outcome, the lease is still renewed. If the
    /// future is dropped, the lease is released like any other.
    pub(crate) async fn downgrade(&self, generation: u32) -> DowngradeOutcome {
        if let Some(reason) = self.context.store.capabilities().missing_shared_mode() {
            return DowngradeOutcome::Refused(reason.into());
        }
        let clock = &*self.context.clock;
        let (ask, token, give_up) = match self.prepare(generation) {
            Ok(prepared) => prepared,
            Err(lost) => return DowngradeOutcome::Lost(lost),
        };
        let mut backoff = Backoff::new(Duration::from_millis(5), Duration::from_millis(500));
        let mut doubted = false;
        loop {
            let untainted = match self.expect_late_call(generation, ask.ttl) {
                Ok(untainted) => untainted,
                Err(lost) => return DowngradeOutcome::Lost(lost),
            };
            // From here on it may be shared, so a detached hold counts as shared.
            self.lock().mode = Mode::Shared;
            let sent = self.context.now();
            let call = self.context.store.acquire(self.name(), &ask);
            let answer = timeout_at(clock, give_up, call).await;
            let (took, failure) = (self.context.now().since(sent), failure(answer.as_ref()));
            self.context.observer.record_call(StoreCall::Acquire, took, failure);
            let fault = match answer {
                Some(Ok(Answer::Granted { token: kept, .. })) if self.is_same(kept, token) => {
                    if !doubted {
                        self.clear_late_call(untainted);
                    }
                    self.context.observer.record_downgraded(self.name(), token);
                    return match self.check(generation) {
                        Ok(_) => DowngradeOutcome::Shared,
                        Err(reason) => DowngradeOutcome::Lost(self.lost_error(token, reason)),
                    };
                }
                // Another holder has the name, or had it. A grant now is for another lease, which
                // the end of this one takes back.
                Some(Ok(_)) => {
                    self.lose(self.lock(), self.context.now(), LostReason::Taken);
                    return DowngradeOutcome::Lost(self.lost_error(token, LostReason::Taken));
                }
                Some(Err(fault)) => fault,
                None => unanswered(),
            };
            doubted |= fault.kind() == FaultKind::InDoubt;
            if !doubted {
                self.clear_late_call(untainted);
            }
            let now = self.context.now();
            let pause = now.saturating_add(backoff.next(self.context.entropy.jitter()));
            if !fault.is_transient() || pause >= give_up {
                return match self.check(generation) {
                    Err(reason) => DowngradeOutcome::Lost(self.lost_error(token, reason)),
                    Ok(_) if doubted => DowngradeOutcome::InDoubt(fault),
                    Ok(_) => {
                        self.lock().mode = Mode::Exclusive;
                        DowngradeOutcome::Refused(fault)
                    }
                };
            }
            clock.sleep_until(pause).await;
        }
    }

    /// The request, the token that must stay the same, and until when to ask.
    fn prepare(&self, generation: u32) -> Result<(Ask, Token, Timestamp), Lost> {
        let now = self.context.now();
        let state = self.lock();
        let token = state.token;
        self.still_held(&state, generation, now)?;
        let ask = Ask {
            owner: self.owner,
            kind: self.name_use().kind,
            mode: Mode::Shared,
            order: if self.context.store.capabilities().fifo {
                Order::Fifo
            } else {
                Order::Barging
            },
            intent: Intent::Try,
            ttl: state.hold.terms().for_store(),
            label: "".into(),
        };
        let give_up = now.saturating_add(PATIENCE).min(state.hold.deadline());
        drop(state);
        // A shared lease must not be handed to a task that waits for an exclusive one.
        if kept(Rule::SharedLeaseNotHandedOver) {
            self.leave_queue();
        }
        Ok((ask, token, give_up))
    }

    /// Whether the store still keeps the grant of this very lease, whose token may have risen by hand-overs inside the
    /// process.
    fn is_same(&self, kept: Token, token: Token) -> bool {
        if self.context.store.capabilities().pass_bits {
            kept.time() == token.time()
        } else {
            kept == token
        }
    }

    fn still_held(&self, state: &State, generation: u32, now: Timestamp) -> Result<(), Lost> {
        let over = state.hold.generation() != generation;
        // A forked child must not let readers into the lease of its parent.
        if over || self.context.is_forked() {
            return Err(self.lost_error_from(
                LossBackground::default(),
                state.token,
                LostReason::Taken,
            ));
        }
        match state.hold.next_action(now) {
            Action::TellLost(reason) => {
                Err(self.lost_error_from(state.loss_background(), state.token, reason))
            }
            Action::Renew | Action::PassOn | Action::WaitUntil(_) => Ok(()),
        }
    }

    /// A request that arrives after the end of the lease would get a new grant. So a hold that is over sends none, and
    /// a hold that ends during the request must expect a late call, even on a store without late calls. Returns the
    /// earlier expectation.
    fn expect_late_call(&self, generation: u32, ttl: Duration) -> Result<Timestamp, Lost> {
        let now = self.context.now();
        let mut state = self.lock();
        self.still_held(&state, generation, now)?;
        let until = now.saturating_add(ttl);
        let before = state.late_calls_until();
        state.set_late_calls_until(before.max(until));
        Ok(before)
    }

    fn clear_late_call(&self, until: Timestamp) {
        self.lock().set_late_calls_until(until);
    }
}

fn unanswered() -> Fault {
    Fault::new(
        FaultKind::InDoubt,
        "the store did not answer the downgrade",
        "check that it can be reached; treat the hold as shared",
    )
}
