//! What goes on after a call was answered: late answers, and members from which something is to be
//! taken back. Bounded; what does not fit ends with its lease.
//!
//! Each member has room of its own for what is to be taken back from it: one that is silent for long
//! fills that, and not the room of those that answer.

use std::{future::Future, sync::Arc, time::Duration};

use tenure_core::{
    Clock, LockName,
    proto::{
        Owner,
        cleanup::{AcquisitionCleanup, Attempt},
        rule::{Rule, kept},
    },
};
use tokio::{runtime::Handle, sync::Semaphore};

use crate::members::{Member, within};

/// How many go on at a time, and how many more for each member.
const MOST: usize = 1_024;

#[derive(Clone, Debug)]
pub(crate) struct BackgroundLimiter {
    any: Arc<Semaphore>,
    members: Arc<[Arc<Semaphore>]>,
}

impl BackgroundLimiter {
    pub(crate) fn new(members: usize) -> Self {
        let room = || Arc::new(Semaphore::new(MOST));
        Self { any: room(), members: (0..members).map(|_| room()).collect() }
    }

    /// Runs `work` in the runtime of the caller; back if too much goes on already.
    pub(crate) fn run<W>(&self, work: W) -> Result<(), W>
    where
        W: Future<Output = ()> + Send + 'static,
    {
        run_within(&self.any, work)
    }

    /// Takes something back from the member with this number, which is called as `store`.
    pub(crate) fn take_back(
        &self,
        what: MemberCleanup,
        member: usize,
        store: Member,
        in_doubt: bool,
    ) {
        if let Some(room) = self.members.get(member) {
            drop(run_within(room, what.release_at(store, in_doubt)));
        }
    }
}

fn run_within<W>(room: &Arc<Semaphore>, work: W) -> Result<(), W>
where
    W: Future<Output = ()> + Send + 'static,
{
    let (Ok(runtime), Ok(permit)) = (Handle::try_current(), room.clone().try_acquire_owned())
    else {
        return Err(work);
    };
    runtime.spawn(async move {
        let _permit = permit;
        work.await;
    });
    Ok(())
}

/// What is to be taken back from members.
#[derive(Clone, Debug)]
pub(crate) struct MemberCleanup {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limit: Duration,
    pub(crate) name: LockName,
    pub(crate) owner: Owner,
    pub(crate) ttl: Duration,
    /// For how long the name is to stay taken.
    pub(crate) keep: Duration,
}

impl MemberCleanup {
    /// Releases at one member until it says that nothing is there. Where the acquire was never
    /// answered it may still arrive, so that once is not enough.
    pub(crate) async fn release_at(self, member: Member, in_doubt: bool) {
        let calls_outlive_drop = in_doubt && member.capabilities().calls_outlive_drop;
        let calls_outlive_drop = calls_outlive_drop && kept(Rule::SilentMemberReleasedAgain);
        let mut cleanup = AcquisitionCleanup::new(self.clock.now(), self.ttl, calls_outlive_drop);
        loop {
            self.clock.sleep_until(cleanup.next_attempt()).await;
            let release = member.release(&self.name, &self.owner, self.keep);
            let gone = within(self.clock.clone(), self.limit, release).await.is_ok();
            let attempt = if gone { Attempt::Gone } else { Attempt::Failed };
            if cleanup.attempted(self.clock.now(), attempt) {
                return;
            }
        }
    }
}
