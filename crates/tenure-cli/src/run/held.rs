//! What a command runs under: one lock, or several together.

use std::{pin::Pin, time::Duration};

use tenure::{
    AllGuard, Guard, Lost, LostReason, OnceError, ReleaseError, Token,
    clock::Timestamp,
    detached::Detach,
    inspect::Identity,
    once::{SlotId, SlotRun},
};

use crate::explanation::Explanation;

/// The guard of one lock or of several.
#[derive(Debug)]
pub(crate) enum AnyGuard {
    One(Guard),
    All(AllGuard),
    /// The lock of a slot's run.
    Slot(Box<SlotRun>),
}

/// Why a release did not go as it should.
#[derive(Debug)]
pub(crate) struct NotReleased {
    /// Why a lock had been lost before, if one had.
    pub(crate) lost: Option<LostReason>,
    /// What else went wrong, in words; empty if nothing else did.
    pub(crate) why: String,
}

/// Why a slot whose command succeeded is not marked as finished.
#[derive(Debug)]
pub(crate) struct NotMarked {
    /// Why the lock had been lost before, if it had.
    pub(crate) lost: Option<LostReason>,
    pub(crate) why: Explanation,
}

impl AnyGuard {
    /// Each name with its token.
    pub(crate) fn tokens(&self) -> Vec<(&str, Token)> {
        match self {
            Self::One(guard) => vec![(guard.name().as_str(), guard.token())],
            Self::Slot(guard) => vec![(guard.name().as_str(), guard.token())],
            Self::All(guard) => {
                guard.tokens().map(|(name, token)| (name.as_str(), token)).collect()
            }
        }
    }

    pub(crate) fn deadline(&self) -> Timestamp {
        match self {
            Self::One(guard) => guard.deadline(),
            Self::Slot(guard) => guard.deadline(),
            Self::All(guard) => guard.deadline(),
        }
    }

    /// Whether it may be counted on at this very moment.
    pub(crate) fn check(&self) -> Result<(), Lost> {
        match self {
            Self::One(guard) => guard.check().map(drop),
            Self::Slot(guard) => guard.check().map(drop),
            Self::All(guard) => guard.check(),
        }
    }

    /// Lets the names be free as soon as they are released.
    pub(crate) fn cancel_hold_at_least(&self) {
        match self {
            Self::One(guard) => guard.cancel_hold_at_least(),
            Self::Slot(guard) => guard.cancel_hold_at_least(),
            Self::All(guard) => guard.cancel_hold_at_least(),
        }
    }

    pub(crate) fn remaining(&self) -> Duration {
        match self {
            Self::One(guard) => guard.remaining(),
            Self::Slot(guard) => guard.remaining(),
            Self::All(guard) => guard.remaining(),
        }
    }

    /// What the store said when a lock was not renewed, if one was not.
    pub(crate) fn last_renewal_error(&self) -> Option<String> {
        let fault = match self {
            Self::One(guard) => guard.last_renewal_error(),
            Self::Slot(guard) => guard.last_renewal_error(),
            Self::All(guard) => guard.last_renewal_error(),
        };
        fault.map(|fault| fault.message_and_cause())
    }

    pub(crate) fn lost(&self) -> Pin<Box<dyn Future<Output = Lost> + Send>> {
        match self {
            Self::One(guard) => Box::pin(guard.lost()),
            Self::Slot(guard) => Box::pin(guard.lost()),
            Self::All(guard) => Box::pin(guard.lost()),
        }
    }

    /// Returns when it is at risk, or lost.
    pub(crate) fn at_risk(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        match self {
            Self::One(guard) => Box::pin(guard.at_risk()),
            Self::Slot(guard) => Box::pin(guard.at_risk()),
            Self::All(guard) => Box::pin(guard.at_risk()),
        }
    }

    /// Returns when it is not at risk.
    pub(crate) fn recovered(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        match self {
            Self::One(guard) => Box::pin(guard.recovered()),
            Self::Slot(guard) => Box::pin(guard.recovered()),
            Self::All(guard) => Box::pin(guard.recovered()),
        }
    }

    pub(crate) fn release_requested(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        match self {
            Self::One(guard) => Box::pin(guard.release_requested()),
            Self::Slot(guard) => Box::pin(guard.release_requested()),
            Self::All(guard) => Box::pin(guard.release_requested()),
        }
    }

    /// Who asks for its release, if they say so.
    pub(crate) fn release_requested_by(&self) -> Option<Identity> {
        match self {
            Self::One(guard) => guard.release_requested_by(),
            Self::Slot(guard) => guard.release_requested_by(),
            Self::All(guard) => guard.release_requested_by(),
        }
    }

    /// Who broke it, if they said so.
    pub(crate) fn broken_by(&self) -> Option<Identity> {
        match self {
            Self::One(guard) => guard.broken_by(),
            Self::Slot(guard) => guard.broken_by(),
            Self::All(guard) => guard.broken_by(),
        }
    }

    /// Tells the history of its locks how the command ended.
    pub(crate) fn set_exit_code(&self, exit_code: u8) {
        match self {
            Self::One(guard) => guard.set_exit_code(exit_code.into()),
            Self::Slot(guard) => guard.set_exit_code(exit_code.into()),
            Self::All(guard) => guard.set_exit_code(exit_code.into()),
        }
    }

    /// On its way to be held by no process.
    pub(crate) fn detach(self) -> Result<Detach, String> {
        match self {
            Self::One(guard) => Ok(guard.detach()),
            Self::All(_) => Err("several locks together have no handle".to_owned()),
            Self::Slot(_) => Err("the lock of a slot has no handle".to_owned()),
        }
    }

    /// The names of its locks, with commas between them.
    pub(crate) fn name(&self) -> String {
        let names: Vec<_> = self.tokens().into_iter().map(|(name, _)| name.to_owned()).collect();
        names.join(",")
    }

    /// The slot that it is for, and which run of that slot this is.
    pub(crate) fn slot(&self) -> Option<(SlotId, u32)> {
        let Self::Slot(run) = self else { return None };
        Some((run.slot().id.clone(), run.tries()))
    }

    /// Whether it is for a slot that is not marked as finished.
    pub(crate) fn has_open_slot(&self) -> bool {
        matches!(self, Self::Slot(run) if !run.is_marked())
    }

    /// Marks its slot as finished, if it is for one.
    pub(crate) async fn mark_slot(&mut self) -> Result<(), NotMarked> {
        let Self::Slot(run) = self else { return Ok(()) };
        let Err(error) = run.mark().await else { return Ok(()) };
        let slot = run.slot().id.in_utc();
        let (lost, what) = match &error {
            OnceError::Lost(lost) => {
                (Some(lost.reason), format!("the slot {slot} stays open, as its lock was lost"))
            }
            _ => (None, format!("the slot {slot} may not be marked as finished")),
        };
        let error = tenure::Error::from(error);
        let why = Explanation::new(what).because(&error);
        Err(NotMarked { lost, why: why.advise("another host may run it again") })
    }

    pub(crate) async fn release(self) -> Result<(), NotReleased> {
        let failures = match self {
            Self::One(guard) => guard.release().await.err().into_iter().collect(),
            Self::Slot(run) => run.into_guard().release().await.err().into_iter().collect(),
            Self::All(guard) => match guard.release().await {
                Ok(()) => Vec::new(),
                Err(error) => error.failures,
            },
        };
        if failures.is_empty() {
            return Ok(());
        }
        let mut not = NotReleased { lost: None, why: String::new() };
        for failure in failures {
            match failure {
                ReleaseError::Lost(lost) => not.lost = not.lost.or(Some(lost.reason)),
                other => {
                    let gap = if not.why.is_empty() { "" } else { "; " };
                    not.why += &format!("{gap}{other:#}");
                }
            }
        }
        Err(not)
    }
}
