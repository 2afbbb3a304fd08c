//! Operations that need only a handle: renewing its hold, and releasing it.

use std::{sync::Arc, time::Duration};

use tenure_proto::{Backoff, Grace, Renewed, Timestamp, Ttl, lease, queue::Released};

use super::{Handle, take_over::lease_for};
use crate::{
    AcquireError, Fault, FaultKind,
    context::StoreContext,
    driver::timeout_at,
    error::{HandleError, LockAddress},
    observe::{StoreCall, failure},
    store::Renewal,
};

/// The longest time for which the store is asked.
const PATIENCE: Duration = Duration::from_secs(5);

/// Ensures that the hold lasts for at least `length` from now on; returns until when it may be counted on.
pub(crate) async fn renew(
    context: &Arc<StoreContext>,
    handle: &Handle,
    length: Duration,
) -> Result<Timestamp, HandleError> {
    let address = handle.address(&*context.store);
    let failed = |fault| HandleError::store(address.clone(), fault);
    handle.check_store_kind(&*context.store).map_err(failed)?;
    check_not_forked(context, &address)?;
    let ttl = lease_for(&*context.store, handle.kind, Ttl::new(length)?).map_err(failed)?;
    let renewal = [Renewal { name: handle.name.clone(), owner: handle.owner, ttl }];
    let (mut tries, mut doubted) = (RetrySchedule::new(context), false);
    loop {
        let sent = context.now();
        let answer =
            timeout_at(&*context.clock, tries.give_up, context.store.renew(&renewal)).await;
        let received = context.now();
        let answer = answer.unwrap_or_default().pop();
        let failure = failure(answer.as_ref());
        context.observer.record_call(StoreCall::Renew, received.since(sent), failure);
        let fault = match answer {
            Some(Ok(Renewed::Renewed { left, .. })) => {
                let deadline = lease::deadline(sent, received, left, Grace::NONE);
                let deadline = deadline.ok_or_else(|| failed(renewed_too_late()))?;
                // The rest may have passed on the way, or by another clock.
                let least = ttl.saturating_sub(received.since(sent) + lease::drift(ttl));
                if left < least {
                    return Err(failed(renewed_for_less(left)));
                }
                return Ok(deadline);
            }
            Some(Ok(Renewed::Lost)) => return Err(HandleError::Lost(address)),
            Some(Err(fault)) => fault,
            Some(Ok(Renewed::Unknown)) | None => Fault::unanswered("the renewal"),
        };
        doubted |= fault.kind() == FaultKind::InDoubt;
        if !fault.is_transient() || !tries.pause(context).await {
            let certain = !doubted || fault.kind() == FaultKind::InDoubt;
            return Err(failed(if certain { fault } else { Fault::unanswered("the renewal") }));
        }
    }
}

/// Releases the hold.
pub(crate) async fn release(
    context: &Arc<StoreContext>,
    handle: &Handle,
) -> Result<(), HandleError> {
    let address = handle.address(&*context.store);
    let failed = |fault| HandleError::store(address.clone(), fault);
    handle.check_store_kind(&*context.store).map_err(failed)?;
    check_not_forked(context, &address)?;
    let (mut tries, mut doubted) = (RetrySchedule::new(context), false);
    loop {
        let sent = context.now();
        let call = context.store.release(&handle.name, &handle.owner, Duration::ZERO);
        let answer = timeout_at(&*context.clock, tries.give_up, call).await;
        let (took, failure) = (context.now().since(sent), failure(answer.as_ref()));
        context.observer.record_call(StoreCall::Release, took, failure);
        let fault = match answer {
            // If it is not held, an earlier try may have released it.
            Some(Ok(Released::NotHeld)) if !doubted => return Err(HandleError::Lost(address)),
            Some(Ok(Released::Released | Released::NotHeld)) => return Ok(()),
            Some(Err(fault)) => fault,
            None => Fault::unanswered("the release"),
        };
        doubted |= fault.kind() == FaultKind::InDoubt;
        if !fault.is_transient() || !tries.pause(context).await {
            let certain = !doubted || fault.kind() == FaultKind::InDoubt;
            return Err(failed(if certain { fault } else { Fault::unanswered("the release") }));
        }
    }
}

/// A forked child has no part in the locks of its parent, whose connections it would use.
fn check_not_forked(context: &StoreContext, address: &LockAddress) -> Result<(), HandleError> {
    if !context.is_forked() {
        return Ok(());
    }
    let address = address.clone();
    Err(HandleError::NoRoom(Box::new(AcquireError::ShutDown { lock: address })))
}

/// When the store is asked again, and until when.
struct RetrySchedule {
    backoff: Backoff,
    give_up: Timestamp,
}

impl RetrySchedule {
    fn new(context: &StoreContext) -> Self {
        let backoff = Backoff::new(Duration::from_millis(5), Duration::from_millis(500));
        Self { backoff, give_up: context.now().saturating_add(PATIENCE) }
    }

    /// Waits for the next try; `false` if there is none.
    async fn pause(&mut self, context: &StoreContext) -> bool {
        let until = context.now().saturating_add(self.backoff.next(context.entropy.jitter()));
        if until >= self.give_up {
            return false;
        }
        context.clock.sleep_until(until).await;
        true
    }
}

/// The fault for a renewal that the store cut.
fn renewed_for_less(left: Duration) -> Fault {
    Fault::new(
        FaultKind::Misconfigured,
        format!("the store renewed it, but only for {left:?}"),
        "renew it for a shorter time, and again before that is over",
    )
}

/// The fault for a renewal for such a short time that it is over by now.
fn renewed_too_late() -> Fault {
    Fault::new(
        FaultKind::InDoubt,
        "the store renewed it, but answered when the lease was nearly over",
        "renew it for longer, or see why the store is slow",
    )
}
