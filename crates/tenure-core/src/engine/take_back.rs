//! One acquisition to be taken back, or one release to be carried out, in the background.

use std::time::Duration;

use tenure_proto::{
    Owner, Timestamp,
    cleanup::{Attempt, Cleanup},
    time::ceil_millis,
};

use super::Slot;
use crate::LockName;

/// What is left to be released in the store, and until when that is worth trying.
#[derive(Debug)]
pub(crate) struct TakeBack {
    pub(crate) name: LockName,
    pub(crate) owner: Owner,
    keep_until: Timestamp,
    until: Timestamp,
    cleanup: Cleanup,
    slot: Slot,
    was_held: bool,
}

impl TakeBack {
    /// To be released from `now` until it succeeds, at the longest `until`; where a call may still
    /// arrive late, again and again until then.
    pub(crate) fn new(
        name: LockName,
        owner: Owner,
        mut slot: Slot,
        now: Timestamp,
        until: Timestamp,
        late_calls: bool,
    ) -> Self {
        slot.end();
        let cleanup = Cleanup::new(now, until.since(now), late_calls);
        let keep_until = Timestamp::ZERO;
        Self { name, owner, keep_until, until, cleanup, slot, was_held: false }
    }

    /// What is released had a guard, and its name is to stay taken until `keep_until`.
    pub(crate) fn held(mut self, keep_until: Timestamp) -> Self {
        self.was_held = true;
        self.keep_until = keep_until;
        self
    }

    /// Whether there was a guard, so that this is the end of a hold and no clean-up.
    pub(crate) fn was_held(&self) -> bool {
        self.was_held
    }

    pub(crate) fn keep(&self, now: Timestamp) -> Duration {
        Duration::from_millis(ceil_millis(self.keep_until.since(now)))
    }

    pub(crate) fn rest(&self, now: Timestamp) -> Duration {
        self.until.since(now)
    }

    /// Whether the store has said that nothing is there; a late call may still bring it.
    pub(crate) fn is_settled(&self) -> bool {
        self.slot.is_settled()
    }

    pub(crate) fn next_attempt(&self) -> Timestamp {
        self.cleanup.next_attempt()
    }

    /// Takes the result of an attempt; `true` when nothing is left to do.
    pub(crate) fn attempted(&mut self, now: Timestamp, gone: bool) -> bool {
        if gone {
            self.slot.settle();
        }
        self.cleanup.attempted(now, if gone { Attempt::Gone } else { Attempt::Failed })
    }
}
