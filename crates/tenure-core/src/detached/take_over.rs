//! Takes a hold over at the store, with several tries if the store does not answer.

use std::{sync::Arc, time::Duration};

use tenure_proto::{
    Backoff, Grace, Timestamp, Ttl, lease,
    queue::{Grant, Kind, TakeOver, TakenOver},
};

use crate::{
    Fault, FaultKind, LockName, Store,
    acquisition::Acquisition,
    context::StoreContext,
    driver::timeout_at,
    observe::{StoreCall, failure},
};

/// The longest wait for one answer before the store is asked again.
const LONGEST_CALL: Duration = Duration::from_secs(5);

/// The outcome of taking a hold over.
pub(super) enum TakeOverOutcome {
    /// The new owner has the hold, by the answer to a call that was sent and received at these times.
    Taken { grant: Grant, sent: Timestamp, received: Timestamp },
    /// The old owner holds nothing.
    NotHeld,
    /// The store failed or did not answer.
    Failed(Fault),
}

/// Sends `over` until `give_up`. The same call may be sent several times: it has one owner, so it takes effect once.
/// `acquisition` has that owner, and knows what may have to be taken back.
pub(super) async fn take_over(
    context: &Arc<StoreContext>,
    name: &LockName,
    over: &TakeOver,
    acquisition: &mut Acquisition,
    give_up: Timestamp,
) -> TakeOverOutcome {
    let StoreContext { store, clock, entropy, .. } = &**context;
    let mut backoff = Backoff::new(Duration::from_millis(5), Duration::from_millis(500));
    let mut doubted = false;
    loop {
        let sent = context.now();
        acquisition.begin_call(sent, over.ttl);
        let until = sent.saturating_add(over.ttl.min(LONGEST_CALL)).min(give_up);
        let answer = timeout_at(&**clock, until, store.take_over(name, over)).await;
        let received = context.now();
        let (took, failure) = (received.since(sent), failure(answer.as_ref()));
        context.observer.record_call(StoreCall::TakeOver, took, failure);
        let fault = match answer {
            Some(Ok(TakenOver::Granted(grant))) => {
                return TakeOverOutcome::Taken { grant, sent, received };
            }
            Some(Ok(TakenOver::NotHeld)) => {
                // A call that was in doubt before stays so, and is taken back.
                acquisition.record_no_effect();
                return TakeOverOutcome::NotHeld;
            }
            Some(Err(fault)) => fault,
            None => unanswered(),
        };
        if fault.kind() == FaultKind::InDoubt {
            doubted = true;
        } else {
            acquisition.record_no_effect();
        }
        let pause = received.saturating_add(backoff.next(entropy.jitter()));
        if !fault.is_transient() || pause >= give_up {
            // A later refusal does not settle a call that is in doubt.
            let certain = !doubted || fault.kind() == FaultKind::InDoubt;
            return TakeOverOutcome::Failed(if certain { fault } else { unanswered() });
        }
        clock.sleep_until(pause).await;
    }
}

/// The lease of a detached hold that its holder can count on for `length`, if the store grants that much. The longest
/// that the store grants is enough, although clocks that differ leave a little less of it.
pub(super) fn lease_for(store: &dyn Store, kind: Kind, length: Ttl) -> Result<Duration, Fault> {
    let longest = store.capabilities().longest_detached_lease(kind);
    if length.for_store() > longest {
        let what = format!(
            "this store grants no lease of {:?} to a detached {kind}, only up to {longest:?}",
            length.get()
        );
        return Err(Fault::new(
            FaultKind::Misconfigured,
            what,
            "choose a shorter one, and renew it",
        ));
    }
    Ok(lease::covering(length.get(), Grace::NONE).min(longest))
}

/// The fault for an answer that came too late to count on.
pub(super) fn too_late() -> Fault {
    Fault::new(
        FaultKind::InDoubt,
        "the store answered when the lease was nearly over",
        "choose a longer lease, or see why the store is slow; the lock is being released",
    )
}

fn unanswered() -> Fault {
    Fault::new(
        FaultKind::InDoubt,
        "the store did not answer, so the hold may have changed hands",
        "check that the store can be reached; what changed hands is being released",
    )
}
