//! Calls that need no guard: made once, or repeated until they are answered.

use std::{future::Future, time::Duration};

use tenure_proto::{
    Backoff, Timestamp,
    rule::{Rule, kept},
};

use crate::{
    Fault, FaultKind, LockName,
    context::StoreContext,
    driver::timeout_at,
    error::InspectError,
    observe::{StoreCall, failure},
};

/// The longest wait for one answer before the store is asked again.
const LONGEST_CALL: Duration = Duration::from_secs(5);
/// For how long transient faults are retried.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Repeats a call until it is answered, or until `until`. If no time is left, it still makes one call. A call that a
/// lock makes is `counted` as one of its kind.
pub(crate) async fn retry_until<T, F>(
    context: &StoreContext,
    name: &LockName,
    until: Timestamp,
    counted: Option<StoreCall>,
    mut call: impl FnMut() -> F + Send,
) -> Result<T, InspectError>
where
    T: Send,
    F: Future<Output = Result<T, Fault>> + Send,
{
    check_not_forked(context).map_err(|fault| InspectError::store(context.address(name), fault))?;
    let mut backoff = Backoff::new(Duration::from_millis(5), Duration::from_secs(1));
    loop {
        let now = context.now();
        let longest = now.saturating_add(LONGEST_CALL);
        let given_up = if until <= now { longest } else { longest.min(until) };
        let answer = timeout_at(&*context.clock, given_up, call()).await;
        if let Some(kind) = counted {
            let took = context.now().since(now);
            context.observer.record_call(kind, took, failure(answer.as_ref()));
        }
        let fault = match answer {
            Some(Ok(answer)) => return Ok(answer),
            Some(Err(fault)) => fault,
            None => unanswered(),
        };
        let again = context.now().saturating_add(backoff.next(context.entropy.jitter()));
        let passing = fault.is_transient() && kept(Rule::PassingFaultsRiddenOut);
        if !passing || again >= until {
            return Err(InspectError::store(context.address(name), fault));
        }
        context.clock.sleep_until(again).await;
    }
}

/// Makes a call once, with a time limit.
pub(crate) async fn ask_once<T: Send>(
    context: &StoreContext,
    within: Duration,
    call: impl Future<Output = Result<T, Fault>> + Send,
) -> Result<T, Fault> {
    check_not_forked(context)?;
    let given_up = context.now().saturating_add(within);
    timeout_at(&*context.clock, given_up, call).await.unwrap_or_else(|| Err(unanswered()))
}

fn unanswered() -> Fault {
    let help = "check that it can be reached and try again";
    Fault::new(FaultKind::InDoubt, "the store did not answer", help)
}

/// Refuses calls from a forked child of the process that opened the store.
pub(crate) fn check_not_forked(context: &StoreContext) -> Result<(), Fault> {
    if !context.is_forked() {
        return Ok(());
    }
    let what = "this process was forked from the one that opened the store";
    Err(Fault::new(FaultKind::Unsupported, what, "open it anew in this process"))
}
