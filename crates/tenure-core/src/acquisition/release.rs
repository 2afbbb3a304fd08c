//! The end of a hold: the release in the store.

use std::time::Duration;

use tenure_proto::{Backoff, LostReason, Timestamp, queue::Released, time::ceil_millis};

use super::{Acquisition, Stage};
use crate::{
    Fault, FaultKind,
    driver::timeout_at,
    error::{ReleaseError, StoreFailure},
    observe::{StoreCall, failure},
    store::LeaseScope,
};

/// How long a release is tried before the engine continues it.
const PATIENCE: Duration = Duration::from_secs(2);

impl Acquisition {
    /// Releases the hold in the store, with several tries if it does not answer.
    pub(crate) async fn release(mut self) -> Result<(), ReleaseError> {
        let Stage::Over(end) = self.stage else { return Ok(()) };
        let context = self.context.clone();
        let mut now = context.now();
        let give_up = now.saturating_add(PATIENCE).min(end.until);
        let mut backoff = Backoff::new(Duration::from_millis(5), Duration::from_millis(500));
        let mut failed = None::<Fault>;
        loop {
            let keep = Duration::from_millis(ceil_millis(end.keep_until.since(now)));
            let believed = self.is_believed();
            // Set before the call, so that it also holds if this future is dropped meanwhile.
            self.set_believed(false);
            let call = context.store.release(&self.name, &self.owner, keep);
            let answer = timeout_at(&*context.clock, give_up, call).await;
            let (took, failure) = (context.now().since(now), failure(answer.as_ref()));
            context.observer.record_call(StoreCall::Release, took, failure);
            let fault = match answer {
                Some(Ok(Released::NotHeld)) if believed => {
                    self.released();
                    let lost = context.lost(&self.name, end.token, LostReason::Taken);
                    context.observer.record_late_loss(self.series, &lost);
                    context.journal.lost_late(&self.name, end.token, context.now());
                    return Err(lost.into());
                }
                // If it is not held, an earlier try may have released it.
                Some(Ok(Released::Released | Released::NotHeld)) => {
                    self.released();
                    return Ok(());
                }
                Some(Err(fault)) => fault,
                // The error of an earlier try says more than that the last one was cut off.
                None => failed.take().unwrap_or_else(unanswered),
            };
            self.set_believed(believed && fault.kind() != FaultKind::InDoubt);
            let pause = context.now().saturating_add(backoff.next(context.entropy.jitter()));
            if !fault.is_transient() || pause >= give_up {
                let lock = context.address(&self.name);
                let fault = fault.with_more_help(free(context.store.capabilities().lease));
                return Err(ReleaseError::InDoubt(Box::new(StoreFailure { lock, fault })));
            }
            failed = Some(fault);
            context.clock.sleep_until(pause).await;
            now = context.now();
        }
    }

    /// The store has released it. Only calls that may arrive late are left.
    pub(crate) fn released(&mut self) {
        let comes_late =
            self.tainted_until > Timestamp::ZERO && self.context.now() < self.tainted_until;
        match &mut self.slot {
            Some(slot) if comes_late => slot.settle(),
            slot => *slot = None,
        }
    }
}

fn unanswered() -> Fault {
    Fault::new(
        FaultKind::InDoubt,
        "the store did not answer the release",
        "check that it can be reached",
    )
}

/// When an unreleased lock is free.
const fn free(lease: LeaseScope) -> &'static str {
    match lease {
        LeaseScope::Hold => "the lock is free when its lease ends",
        LeaseScope::Session { .. } => "the lock is free when the session of this process ends",
    }
}
