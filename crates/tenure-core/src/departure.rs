//! A lease that is to be released in the store.

use std::{sync::Arc, time::Duration};

use tenure_proto::{
    Backoff, LostReason, Owner, Timestamp, Token, queue::Released, time::ceil_millis,
};

use crate::{
    Fault, FaultKind, LockName,
    context::Context,
    driver::before,
    engine::{Job, Slot, TakeBack},
    error::{ReleaseError, Trouble},
};

/// How long a release is tried before it is left to the engine.
const PATIENCE: Duration = Duration::from_secs(2);

/// The end of a lease, of which the store does not know yet. Dropping it leaves the rest to the
/// engine.
#[derive(Debug)]
pub(crate) struct Departure {
    context: Arc<Context>,
    name: LockName,
    owner: Owner,
    token: Token,
    slot: Option<Slot>,
    /// When the lease ends by itself.
    until: Timestamp,
    keep_until: Timestamp,
    tainted_until: Timestamp,
}

impl Departure {
    pub(crate) fn new(
        context: &Arc<Context>,
        (name, owner, token): (LockName, Owner, Token),
        mut slot: Slot,
        until: Timestamp,
        keep_until: Timestamp,
        tainted_until: Timestamp,
    ) -> Self {
        slot.end();
        Self {
            context: context.clone(),
            name,
            owner,
            token,
            slot: Some(slot),
            until,
            keep_until,
            tainted_until,
        }
    }

    pub(crate) fn owner(&self) -> Owner {
        self.owner
    }

    /// Tells the store, several times if it does not answer.
    pub(crate) async fn send(mut self) -> Result<(), ReleaseError> {
        let clock = self.context.clock.clone();
        let started = self.context.now();
        let give_up = started.saturating_add(PATIENCE).min(self.until);
        let mut backoff = Backoff::new(Duration::from_millis(5), Duration::from_millis(500));
        let mut doubted = false;
        loop {
            let keep = self.keep_until.since(self.context.now());
            let keep = Duration::from_millis(ceil_millis(keep));
            let store = self.context.store.clone();
            let call = store.release(&self.name, &self.owner, keep);
            let fault = match before(&*clock, give_up, call).await {
                Some(Ok(Released::Released)) => return self.settled(Ok(())),
                // An earlier try may have been the one that released it.
                Some(Ok(Released::NotHeld)) if doubted => return self.settled(Ok(())),
                Some(Ok(Released::NotHeld)) => {
                    let lost = self.context.lost(&self.name, self.token, LostReason::Taken);
                    return self.settled(Err(lost.into()));
                }
                Some(Err(fault)) => fault,
                None => Fault::new(
                    FaultKind::InDoubt,
                    "the store did not answer the release",
                    "see that it can be reached; the lock is free when its lease ends",
                ),
            };
            doubted |= fault.kind() == FaultKind::InDoubt;
            let now = self.context.now();
            let pause = now.saturating_add(backoff.next(self.context.entropy.jitter()));
            if !fault.is_passing() || pause >= give_up {
                let place = self.context.place(&self.name);
                return Err(ReleaseError::InDoubt(Box::new(Trouble { place, fault })));
            }
            clock.sleep_until(pause).await;
        }
    }

    /// The store let go of the lease in another way.
    pub(crate) fn done(mut self) {
        let _ = self.settled(Ok(()));
    }

    /// Nothing is left to be done but what may come late.
    fn settled(&mut self, result: Result<(), ReleaseError>) -> Result<(), ReleaseError> {
        let Some(mut slot) = self.slot.take() else { return result };
        if self.tainted_until > Timestamp::ZERO {
            let now = self.context.now();
            if now < self.tainted_until {
                slot.settle();
                self.hand_to_engine(slot, now);
            }
        }
        result
    }

    fn hand_to_engine(&self, slot: Slot, now: Timestamp) {
        let late_calls = now < self.tainted_until;
        let until = self.until.max(self.tainted_until);
        let job = TakeBack::new(self.name.clone(), self.owner, slot, now, until, late_calls)
            .held(self.keep_until);
        self.context.roster.schedule(now, Job::TakeBack(job));
    }
}

impl Drop for Departure {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.hand_to_engine(slot, self.context.now());
        }
    }
}
