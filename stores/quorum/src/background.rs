//! What goes on after a call was answered: late answers, and members from which something is to be
//! taken back. Bounded; what does not fit ends with its lease.

use std::{future::Future, sync::Arc, time::Duration};

use tenure_core::{
    Clock, LockName,
    proto::{
        Owner,
        cleanup::{Attempt, Cleanup},
        rule::{Rule, kept},
    },
};
use tokio::{runtime::Handle, sync::Semaphore};

use crate::members::{Member, within};

/// How many go on at a time.
const MOST: usize = 1_024;

#[derive(Clone, Debug)]
pub(crate) struct Background(Arc<Semaphore>);

impl Background {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(MOST)))
    }

    /// Runs `work` in the runtime of the caller; `false` if too much goes on already.
    pub(crate) fn run(&self, work: impl Future<Output = ()> + Send + 'static) -> bool {
        let (Ok(runtime), Ok(permit)) = (Handle::try_current(), self.0.clone().try_acquire_owned())
        else {
            return false;
        };
        runtime.spawn(async move {
            let _permit = permit;
            work.await;
        });
        true
    }
}

/// What is to be taken back from members.
#[derive(Clone, Debug)]
pub(crate) struct TakingBack {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limit: Duration,
    pub(crate) name: LockName,
    pub(crate) owner: Owner,
    pub(crate) ttl: Duration,
    /// For how long the name is to stay taken.
    pub(crate) keep: Duration,
}

impl TakingBack {
    /// Releases at one member until it says that nothing is there. Where the acquire was never
    /// answered it may still arrive, so that once is not enough.
    pub(crate) async fn from(self, member: Member, in_doubt: bool) {
        let late_calls = in_doubt && member.capabilities().late_calls;
        let late_calls = late_calls && kept(Rule::SilentMemberReleasedAgain);
        let mut cleanup = Cleanup::new(self.clock.now(), self.ttl, late_calls);
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
