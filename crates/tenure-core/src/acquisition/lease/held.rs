//! One hold of a lease, in the task that has it.

use std::{fmt, sync::Arc, time::Duration};

use tenure_proto::Token;

use super::{EndOutcome, Lease};
use crate::options::HoldRequest;

/// A hold of a lease. Dropping it ends the hold.
pub(crate) struct LeaseHold {
    lease: Arc<Lease>,
    generation: u32,
    token: Token,
    over: bool,
}

impl LeaseHold {
    pub(super) fn new(lease: Arc<Lease>, generation: u32, token: Token) -> Self {
        Self { lease, generation, token, over: false }
    }

    pub(crate) fn lease(&self) -> &Arc<Lease> {
        &self.lease
    }

    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    pub(crate) fn token(&self) -> Token {
        self.token
    }

    /// Takes a hold that was handed over; `None` if it is over by now.
    pub(crate) fn claim(self, request: &HoldRequest) -> Option<Self> {
        self.lease.claim(self.generation, request).then_some(self)
    }

    /// Ends the hold. The caller sends the release to the store.
    pub(crate) fn end(&mut self) -> EndOutcome {
        self.over = true;
        self.lease.end(self.generation)
    }

    /// Ends the hold, and hands it to no task of this process.
    pub(crate) fn leave_process(&mut self) -> EndOutcome {
        self.over = true;
        self.lease.leave_process(self.generation)
    }

    /// Ends the hold without notifying the store.
    pub(crate) fn abandon(&mut self) -> Duration {
        self.over = true;
        self.lease.abandon(self.generation)
    }
}

impl Drop for LeaseHold {
    fn drop(&mut self) {
        if !self.over {
            // If the store must be notified, the engine does that when this is dropped.
            drop(self.end());
        }
        let context = self.lease.context();
        // The last part of a `Tenure` may also be the last thing its program does.
        if context.is_stopped() && !context.is_forked() && context.slots.unsettled().0 == 0 {
            context.drain_releases(1 + usize::from(self.lease.head().is_some()));
        }
    }
}

impl fmt::Debug for LeaseHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the lease, which refers to all others.
        let Self { token, generation, .. } = self;
        f.debug_struct("LeaseHold").field("token", token).field("generation", generation).finish()
    }
}
