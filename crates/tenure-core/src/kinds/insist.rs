//! Calls on a name that need no guard, repeated until they are answered.

use std::{future::Future, time::Duration};

use tenure_proto::{
    Backoff, Timestamp,
    rule::{Rule, kept},
};

use crate::{Fault, FaultKind, LockName, context::Context, driver::before, error::InspectError};

/// How long an answer is waited for before the store is asked again.
const LONGEST_CALL: Duration = Duration::from_secs(5);
/// For how long passing faults are ridden out.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Makes a call that may be repeated until it is answered, at `until` at the latest. Where no time
/// is left, one call is made all the same.
pub(super) async fn insist<T, F>(
    context: &Context,
    name: &LockName,
    until: Timestamp,
    mut call: impl FnMut() -> F + Send,
) -> Result<T, InspectError>
where
    T: Send,
    F: Future<Output = Result<T, Fault>> + Send,
{
    if context.forked() {
        let what = "this process was forked from the one that opened the store";
        let fault = Fault::new(FaultKind::Unsupported, what, "open it anew in this process");
        return Err(InspectError::store(context.address(name), fault));
    }
    let mut backoff = Backoff::new(Duration::from_millis(5), Duration::from_secs(1));
    loop {
        let now = context.now();
        let longest = now.saturating_add(LONGEST_CALL);
        let given_up = if until <= now { longest } else { longest.min(until) };
        let fault = match before(&*context.clock, given_up, call()).await {
            Some(Ok(answer)) => return Ok(answer),
            Some(Err(fault)) => fault,
            None => Fault::new(
                FaultKind::InDoubt,
                "the store did not answer",
                "see that it can be reached and try again",
            ),
        };
        let again = context.now().saturating_add(backoff.next(context.entropy.jitter()));
        let passing = fault.is_transient() && kept(Rule::PassingFaultsRiddenOut);
        if !passing || again >= until {
            return Err(InspectError::store(context.address(name), fault));
        }
        context.clock.sleep_until(again).await;
    }
}
