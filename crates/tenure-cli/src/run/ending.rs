//! How a command is ended, and how and why it ended.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure::clock::{Clock, SystemClock};

use crate::exit;

/// When and how to end a command.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct TerminationPolicy {
    /// Time between SIGTERM and SIGKILL.
    pub(crate) grace: Duration,
    /// How long before the deadline SIGKILL is sent.
    pub(crate) margin: Duration,
    /// Whether the command is ended at all when the lock is lost.
    pub(crate) kill_when_lost: bool,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct CommandEnd {
    /// Its exit code or signal.
    pub(crate) how: ProcessExit,
    /// Why its group is gone.
    pub(crate) cause: EndCause,
    /// When the last of its group was seen to be gone.
    pub(crate) at: u64,
}

impl CommandEnd {
    /// What there is to say of a command that was not started, as its lock was lost by then.
    pub(crate) fn before_it_began() -> Self {
        Self {
            how: ProcessExit::NotStarted,
            cause: EndCause::Lost,
            at: SystemClock.now().as_nanos(),
        }
    }
}

/// Why a command's group is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) enum EndCause {
    /// The command ended by itself.
    Itself,
    /// The lock was lost, or was going to be.
    Lost,
    /// tenure died.
    Orphaned,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) enum ProcessExit {
    NotStarted,
    Code(i32),
    Signal(i32),
}

impl ProcessExit {
    /// The exit code that tells of it; nothing if it was not started.
    pub(crate) fn code(self) -> Option<u8> {
        match self {
            Self::NotStarted => None,
            // The system keeps no more than these eight bits.
            Self::Code(code) => Some(code.to_le_bytes()[0]),
            Self::Signal(number) => Some(exit::by_signal(number)),
        }
    }
}
