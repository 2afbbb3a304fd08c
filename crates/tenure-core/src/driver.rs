//! Waiting for the first of several futures. Only this module chooses between futures, and every call to a store goes
//! through it.

use std::future::Future;

use futures_util::future::select_all;
use tenure_proto::{
    Timestamp,
    rule::{Rule, kept},
};

use crate::{Clock, Wakeups, within_runtime};

/// The output of `future` if it is ready before `until`.
pub(crate) async fn timeout_at<F>(
    clock: &dyn Clock,
    until: Timestamp,
    future: F,
) -> Option<F::Output>
where
    F: Future + Send,
    F::Output: Send,
{
    if until == Timestamp::NEVER {
        return Some(within_runtime(future).await);
    }
    tokio::select! {
        biased;
        output = within_runtime(future) => Some(output),
        // Most futures are ready at once, and then no timer is made.
        () = async { clock.sleep_until(until).await } => None,
    }
}

/// The same, with `waits` called if `future` is not ready at once.
pub(crate) async fn timeout_at_with<F>(
    clock: &dyn Clock,
    until: Timestamp,
    future: F,
    waits: impl FnOnce() + Send,
) -> Option<F::Output>
where
    F: Future + Send,
    F::Output: Send,
{
    tokio::select! {
        biased;
        output = within_runtime(future) => Some(output),
        () = async {
            waits();
            clock.sleep_until(until).await;
        } => None,
    }
}

/// Returns at a wake-up, and at `until` at the latest: a wake-up is only a hint.
pub(crate) async fn wait_for_wakeup(clock: &dyn Clock, until: Timestamp, wakeups: &mut Wakeups) {
    let until = if kept(Rule::WaiterLooksAgain) { until } else { Timestamp::NEVER };
    tokio::select! {
        biased;
        () = wakeups.next() => {}
        () = clock.sleep_until(until) => {}
    }
}

/// The output of the future that is ready first; of the first one if both are.
pub(crate) async fn first<A: Future, B: Future>(one: A, other: B) -> Either<A::Output, B::Output> {
    tokio::select! {
        biased;
        output = one => Either::One(output),
        output = other => Either::Other(output),
    }
}

/// The output of the first of several futures that is ready. Never ready if there are none.
pub(crate) async fn any<F>(futures: Vec<F>) -> F::Output
where
    F: Future + Send,
    F::Output: Send,
{
    if futures.is_empty() {
        return std::future::pending().await;
    }
    select_all(futures.into_iter().map(Box::pin)).await.0
}

/// The output of [`first`].
pub(crate) enum Either<A, B> {
    /// The first was ready.
    One(A),
    /// The second was ready before the first.
    Other(B),
}
