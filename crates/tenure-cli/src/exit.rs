//! How the command ends: its exit codes, and the failures that lead to them.

use tenure::{HandleError, once::SkippedSlot};

use crate::explanation::Explanation;

/// `doctor` found a promise that does not hold.
pub(crate) const UNHEALTHY: u8 = 1;
/// `show --exit-code` found somebody who holds the lock.
pub(crate) const HELD: u8 = 1;
/// Whoever was asked said no.
pub(crate) const DECLINED: u8 = 1;
/// The command line or the configuration makes no sense.
pub(crate) const USAGE: u8 = 2;
/// There was nothing to do in this slot.
const SKIPPED: u8 = 122;
/// The lock was lost while the command ran, or nothing is held by a handle any more.
const LOST: u8 = 123;
/// Somebody else has the lock, as `timeout` and many users of `flock -E` say it.
const BUSY: u8 = 124;
/// tenure itself failed.
pub(crate) const FAILED: u8 = 125;
/// The command was found but cannot be executed.
pub(crate) const NOT_EXECUTABLE: u8 = 126;
/// The command was not found.
pub(crate) const NOT_FOUND: u8 = 127;

/// The codes that users may choose others for, as a tool below or above tenure may use the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExitCodes {
    pub(crate) busy: u8,
    pub(crate) lost: u8,
    pub(crate) failed: u8,
    pub(crate) skipped: u8,
}

impl Default for ExitCodes {
    fn default() -> Self {
        Self { busy: BUSY, lost: LOST, failed: FAILED, skipped: SKIPPED }
    }
}

impl ExitCodes {
    /// The code that tells of a failure.
    pub(crate) fn of(self, failure: &Failure) -> u8 {
        match failure {
            Failure::Usage(_) => USAGE,
            Failure::Declined(_) => DECLINED,
            Failure::Busy { .. } => self.busy,
            Failure::Lost(_) => self.lost,
            Failure::Skipped { .. } => self.skipped,
            Failure::Interrupted { signal, .. } => by_signal(*signal),
            Failure::Away(_) | Failure::Failed(_) => self.failed,
        }
    }
}

/// The exit code for an end by a signal.
pub(crate) fn by_signal(number: i32) -> u8 {
    u8::try_from(number).map_or(u8::MAX, |number| number.saturating_add(128))
}

/// Why `tenure` could not do what it was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The user has to ask differently.
    Usage(Explanation),
    /// The lock is somebody else's.
    Busy {
        why: Explanation,
        /// Whether it was asked for once, without waiting.
        tried: bool,
        /// Whether the store did not answer at last.
        away: bool,
    },
    /// The user was asked and said no.
    Declined(Explanation),
    /// There is nothing to do in this slot. If it `is_missed`, no run has finished it, and none is known to be under way.
    Skipped { why: Explanation, skipped: Box<SkippedSlot>, is_missed: bool },
    /// Nothing is held by a handle any more.
    Lost(Explanation),
    /// A signal came before the command was started, or before all was measured.
    Interrupted { signal: i32, why: Explanation },
    /// The store did not answer, which may pass.
    Away(Explanation),
    /// The store, the system or a guardian let tenure down.
    Failed(Explanation),
}

impl Failure {
    pub(crate) fn failed(why: impl Into<Explanation>) -> Self {
        Self::Failed(why.into())
    }

    pub(crate) fn usage(why: impl Into<Explanation>) -> Self {
        Self::Usage(why.into())
    }

    /// Why a handle did not do what it is for.
    pub(crate) fn by_handle(error: &HandleError) -> Self {
        let why = error.into();
        match error {
            HandleError::Lost(_) => Self::Lost(why),
            HandleError::Setting(_) => Self::Usage(why),
            HandleError::InDoubt(_) => Self::Away(why),
            _ => Self::Failed(why),
        }
    }

    /// What there is to say of it.
    pub(crate) const fn explanation(&self) -> &Explanation {
        match self {
            Self::Usage(why)
            | Self::Busy { why, .. }
            | Self::Declined(why)
            | Self::Lost(why)
            | Self::Interrupted { why, .. }
            | Self::Skipped { why, .. }
            | Self::Away(why)
            | Self::Failed(why) => why,
        }
    }

    /// Whether the store did not answer at last.
    pub(crate) fn is_unreachable(&self) -> bool {
        matches!(self, Self::Away(_) | Self::Busy { away: true, .. })
    }
}
