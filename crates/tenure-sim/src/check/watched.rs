//! One hold, as the checker sees it.

use std::{fmt, sync::Weak, time::Duration};

use tenure_core::{Guard, LockName, LostReason, SlotRun, Timestamp, Token, proto::queue::Mode};

use crate::clock::SimClock;

/// What a task has of a hold: a guard, or several.
pub trait GuardStatus: fmt::Debug + Send + Sync {
    /// Whether it may be acted on at this very moment.
    fn is_held(&self) -> bool;

    /// Until when it may be counted on, on the clock of its process.
    fn deadline(&self) -> Option<Timestamp>;
}

impl GuardStatus for Guard {
    fn is_held(&self) -> bool {
        self.check().is_ok()
    }

    fn deadline(&self) -> Option<Timestamp> {
        Some(Self::deadline(self))
    }
}

impl GuardStatus for SlotRun {
    fn is_held(&self) -> bool {
        self.check().is_ok()
    }

    fn deadline(&self) -> Option<Timestamp> {
        Some(Guard::deadline(self))
    }
}

/// What a task tells of a hold that it has just got.
#[derive(Debug)]
pub struct ReportedHold {
    /// Whose it is.
    pub process: u64,
    /// The lock.
    pub name: LockName,
    /// Its token.
    pub token: Token,
    /// How it is held.
    pub mode: Mode,
    /// The guard, for as long as it is there.
    pub guard: Weak<dyn GuardStatus>,
    /// The clock of its process.
    pub clock: SimClock,
    /// The lease that was asked for.
    pub ttl: Duration,
    /// How much longer the store is to keep it.
    pub grace: Duration,
    /// How long the name was to stay taken at least.
    pub hold_at_least: Duration,
    /// Whether nothing ever goes wrong in this run.
    pub quiet: bool,
}

/// What a task tells when it was told that its hold is lost.
#[derive(Clone, Copy, Debug)]
pub struct LossReport {
    /// Why.
    pub reason: LostReason,
    /// When its process was last resumed, in true time.
    pub resumed: Timestamp,
    /// When anything last went wrong for its process, in true time.
    pub last_trouble: Timestamp,
}

/// A hold with what became of it.
#[derive(Debug)]
pub(super) struct HoldRecord {
    pub(super) watched: ReportedHold,
    /// When it began, in true time.
    pub(super) began: Timestamp,
    /// Whether a check of it has failed.
    pub(super) failed: bool,
    /// Whether the store was seen without its lease.
    pub(super) gone: bool,
    /// Whether the store lost its lease to a loss of data or to an operator. A late copy of its
    /// acquire may then give its owner another one, with a token that it does not know.
    pub(super) orphaned: bool,
    /// When it was over, in true time, as far as was seen.
    pub(super) ended: Option<Timestamp>,
    /// When a release of it was confirmed, in true time.
    pub(super) released: Option<Timestamp>,
}

impl HoldRecord {
    /// Whether its process could act on it at this very moment.
    pub(super) fn valid(&self) -> bool {
        self.ended.is_none() && self.watched.guard.upgrade().is_some_and(|guard| guard.is_held())
    }

    /// The first moment of true time at which its process does not count on it any more.
    pub(super) fn deadline(&self) -> Option<Timestamp> {
        let deadline = self.watched.guard.upgrade()?.deadline()?;
        Some(self.watched.clock.true_at(deadline))
    }
}
