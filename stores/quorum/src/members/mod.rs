//! Asking all members at once, each within its time limit, and what is known of each.

pub(crate) mod background;
pub(crate) mod looks;
pub(crate) mod standing;

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use futures_util::stream::FuturesUnordered;
use tenure_core::{Clock, Fault, FaultKind, LockName, Store, proto::quorum::mark};

/// A call to one member that is under way.
pub(crate) type MemberCall<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Calls to several members that are under way. Dropping them gives them up.
pub(crate) type MemberCalls<T> = FuturesUnordered<MemberCall<T>>;

/// One member as one side calls it: the user's, or tenure's own thread.
pub(crate) type Member = Arc<dyn Store>;

/// What came of a call to one of the members.
#[derive(Debug)]
pub(crate) struct MemberAnswer<T> {
    pub(crate) member: usize,
    pub(crate) answer: Result<T, Fault>,
}

/// Calls every member; whoever does not answer within `limit` is in doubt.
pub(crate) fn ask_all<T, F>(
    members: &[Member],
    clock: &Arc<dyn Clock>,
    limit: Duration,
    call: impl Fn(Member) -> F,
) -> MemberCalls<MemberAnswer<T>>
where
    T: Send + 'static,
    F: Future<Output = Result<T, Fault>> + Send + 'static,
{
    let calls = members.iter().enumerate().map(|(member, store)| {
        let call = within(clock.clone(), limit, call(store.clone()));
        Box::pin(async move { MemberAnswer { member, answer: call.await } }) as MemberCall<_>
    });
    calls.collect()
}

/// What `call` gives, if it does so within `limit`.
pub(crate) async fn within<T>(
    clock: Arc<dyn Clock>,
    limit: Duration,
    call: impl Future<Output = Result<T, Fault>> + Send,
) -> Result<T, Fault> {
    let until = clock.now().saturating_add(limit);
    tokio::select! {
        biased;
        answer = call => answer,
        () = async { clock.sleep_until(until).await } => Err(Fault::new(
            FaultKind::InDoubt,
            format!("no answer within {limit:?}"),
            "see why it is slow, or raise member_limit",
        )),
    }
}

/// The reserved name that the members' marks have.
pub(crate) fn mark_name() -> Result<LockName, Fault> {
    reserved(mark::NAME)
}

/// The reserved name of the note that a member was marked before.
pub(crate) fn note_name() -> Result<LockName, Fault> {
    reserved(mark::NOTE)
}

fn reserved(name: &str) -> Result<LockName, Fault> {
    LockName::new(name)
        .map_err(|error| Fault::new(FaultKind::Corrupt, error.to_string(), "choose another"))
}
