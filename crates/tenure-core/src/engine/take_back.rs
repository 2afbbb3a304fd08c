//! One acquisition that must be taken back, or one release that must be carried out, in the background.

use std::time::Duration;

use tenure_proto::{
    Owner, Timestamp, Token,
    cleanup::{AcquisitionCleanup, Attempt},
    time::ceil_millis,
};

use super::Slot;
use crate::{LockName, observe::SeriesId};

/// What is to be released in the store, and until when it is worth trying.
#[derive(Debug)]
pub(crate) struct PendingRelease {
    pub(crate) name: LockName,
    series: SeriesId,
    pub(crate) owner: Owner,
    keep_until: Timestamp,
    until: Timestamp,
    cleanup: AcquisitionCleanup,
    slot: Slot,
    /// How its hold ended, if it had a guard.
    end: Option<HoldEnd>,
}

/// How a hold ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HoldEnd {
    /// The token of the last hold.
    pub(crate) token: Token,
    /// When the lease ends on its own.
    pub(crate) until: Timestamp,
    /// Until when the name is to stay taken.
    pub(crate) keep_until: Timestamp,
    /// Whether its holder counted on it to its end.
    pub(crate) believed: bool,
}

impl PendingRelease {
    /// Tries the release from `now` until it succeeds, or until `until`. If a call may still arrive late, repeats it
    /// until then.
    pub(crate) fn new(
        (series, name): (SeriesId, &LockName),
        owner: Owner,
        mut slot: Slot,
        now: Timestamp,
        until: Timestamp,
        calls_outlive_drop: bool,
    ) -> Self {
        slot.mark_ended();
        let cleanup = AcquisitionCleanup::new(now, until.since(now), calls_outlive_drop);
        let keep_until = Timestamp::ZERO;
        let name = name.clone();
        Self { name, series, owner, keep_until, until, cleanup, slot, end: None }
    }

    /// The name, as an observer needs it.
    pub(crate) fn observed(&self) -> (SeriesId, &LockName) {
        (self.series, &self.name)
    }

    /// Records that the acquisition had a guard.
    pub(crate) fn with_hold_end(mut self, end: HoldEnd) -> Self {
        self.keep_until = end.keep_until;
        self.end = Some(end);
        self
    }

    /// Whether there was a guard, so that this is the end of a hold and not a clean-up.
    pub(crate) fn was_held(&self) -> bool {
        self.end.is_some()
    }

    /// The token of the hold, if it is a loss that the store knows nothing of it at `now`. It is a loss if its holder
    /// counted on it, its lease is not over, and no release may have arrived before.
    pub(crate) fn lost_token(&self, now: Timestamp) -> Option<Token> {
        self.end.filter(|end| end.believed && now < end.until).map(|end| end.token)
    }

    /// A release may have arrived.
    pub(crate) fn mark_in_doubt(&mut self) {
        if let Some(end) = &mut self.end {
            end.believed = false;
        }
    }

    pub(crate) fn remaining_keep(&self, now: Timestamp) -> Duration {
        Duration::from_millis(ceil_millis(self.keep_until.since(now)))
    }

    pub(crate) fn time_left(&self, now: Timestamp) -> Duration {
        self.until.since(now)
    }

    /// Whether the store has answered that nothing is there. A late call may still bring it back.
    pub(crate) fn is_settled(&self) -> bool {
        self.slot.is_settled()
    }

    pub(crate) fn next_attempt(&self) -> Timestamp {
        self.cleanup.next_attempt()
    }

    /// Records the result of an attempt; `true` if nothing is left to do.
    pub(crate) fn attempted(&mut self, now: Timestamp, gone: bool) -> bool {
        if gone {
            self.slot.settle();
        }
        self.cleanup.attempted(now, if gone { Attempt::Gone } else { Attempt::Failed })
    }
}
