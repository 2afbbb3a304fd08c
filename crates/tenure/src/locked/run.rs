//! Runs the body of a locked function, and only under its lock.

use std::{future::poll_fn, pin::pin, sync::Arc, task::Poll};

use tenure_core::{
    AcquireError, Fault, FaultKind, OnceError, Scope,
    error::{LockAddress, StoreFailure},
};

use super::{
    LockedError,
    current::{AnyGuard, Current},
    outcome::{CanFail, CanSkip},
    plan::{AcquiredLock, Plan},
};
use crate::blocking;

/// Runs `body` under the lock, or returns the error.
pub async fn or_fail<B>(plan: Plan, body: B) -> B::Output
where
    B: Future,
    B::Output: CanFail,
{
    match plan.lock(scope()).await {
        Ok(acquired) => run(acquired, body).await.unwrap_or_else(failed),
        Err(error) => failed(error),
    }
}

/// Runs `body` under the lock, or not at all if another holder has it.
pub async fn or_skip<B>(plan: Plan, body: B) -> B::Output
where
    B: Future,
    B::Output: CanSkip,
{
    match plan.lock_or_skip(scope()).await {
        Ok(Some(acquired)) => run(acquired, body).await.unwrap_or_else(failed),
        Ok(None) => CanSkip::skipped(),
        Err(error) => failed(error),
    }
}

/// As [`or_fail`], on the thread of the caller.
pub fn or_fail_blocking<O: CanFail>(plan: Plan, body: impl FnOnce() -> O) -> O {
    match wait_for(&plan, plan.clone().lock(scope())) {
        Ok(acquired) => run_blocking(acquired, body).unwrap_or_else(failed),
        Err(error) => failed(error),
    }
}

/// As [`or_skip`], on the thread of the caller.
pub fn or_skip_blocking<O: CanSkip>(plan: Plan, body: impl FnOnce() -> O) -> O {
    match wait_for(&plan, plan.clone().lock_or_skip(scope())) {
        Ok(Some(acquired)) => run_blocking(acquired, body).unwrap_or_else(failed),
        Ok(None) => CanSkip::skipped(),
        Err(error) => failed(error),
    }
}

fn failed<O: CanFail>(error: impl Into<LockedError>) -> O {
    O::failed(error.into())
}

/// Makes a separate scope for each call, which knows what the call's callers hold. So a call enters the lock of an
/// enclosing call, and two calls side by side exclude each other.
fn scope() -> Scope {
    Scope::current().map_or_else(Scope::new, |outer| outer.nested())
}

/// Polls `body` while the hold lasts, and releases the lock when it is done.
async fn run<B>(acquired: AcquiredLock, body: B) -> Result<B::Output, LockedError>
where
    B: Future,
    B::Output: CanFail,
{
    let AcquiredLock { hold, tenure, scope } = acquired;
    let hold = Arc::new(hold);
    let address = LockAddress::new(hold.name().clone(), tenure.store().location());
    let has_slot = matches!(*hold, AnyGuard::Slot(_));
    let output = {
        let current = Current::new(&hold, tenure);
        let (mut lost, mut work) = (pin!(hold.lost()), pin!(scope.run(current.inside(body))));
        poll_fn(|context| match lost.as_mut().poll(context) {
            Poll::Ready(lost) => Poll::Ready(Err(lost)),
            Poll::Pending => work.as_mut().poll(context).map(Ok),
        })
        .await?
    };
    hold.check()?;
    match Arc::into_inner(hold) {
        Some(hold) => end(hold, output.is_done()).await?,
        // Something that the work left behind looks at the hold right now.
        None if has_slot && output.is_done() => {
            return Err(not_marked(address, "its hold is in use"));
        }
        None => {}
    }
    Ok(output)
}

/// Calls `body`, and releases the lock when it is done.
fn run_blocking<O: CanFail>(
    acquired: AcquiredLock,
    body: impl FnOnce() -> O,
) -> Result<O, LockedError> {
    let AcquiredLock { hold, tenure, scope } = acquired;
    let hold = Arc::new(hold);
    let address = LockAddress::new(hold.name().clone(), tenure.store().location());
    let has_slot = matches!(*hold, AnyGuard::Slot(_));
    let current = Current::new(&hold, tenure);
    let output = scope.run_blocking(|| current.inside_blocking(body));
    hold.check()?;
    let marks = has_slot && output.is_done();
    match Arc::into_inner(hold) {
        // If this cannot wait, the hold was dropped, which releases it too, and leaves a slot open.
        Some(hold) => match blocking::wait_for(end(hold, output.is_done())) {
            Ok(ended) => ended?,
            Err(error) if marks => return Err(not_marked(address, &format!("{error:#}"))),
            Err(_) => {}
        },
        // Something that the work left behind looks at the hold right now.
        None if marks => return Err(not_marked(address, "its hold is in use")),
        None => {}
    }
    Ok(output)
}

/// The work was done, and its slot is not marked.
fn not_marked(address: LockAddress, why: &str) -> LockedError {
    let what = format!("the slot is not marked as finished: {why}");
    let help = "let all of the work end before its function does";
    let failure = StoreFailure::new(address, Fault::new(FaultKind::Unreachable, what, help));
    LockedError::Once(OnceError::InDoubt(Box::new(failure)))
}

/// Ends a hold under which the work was done, or failed.
async fn end(mut hold: AnyGuard, is_done: bool) -> Result<(), LockedError> {
    let finished = if is_done { hold.finish().await } else { Ok(()) };
    hold.release().await;
    Ok(finished?)
}

/// Blocks until the lock is acquired or not.
fn wait_for<T: Send, E: From<AcquireError> + Send>(
    plan: &Plan,
    acquiring: impl Future<Output = Result<T, E>> + Send + 'static,
) -> Result<T, E> {
    match blocking::wait_for(acquiring) {
        Ok(acquired) => acquired,
        Err(error) => Err(plan.cannot_block(&error).into()),
    }
}
