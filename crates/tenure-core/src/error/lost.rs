//! Why a hold ended before it was released.

use std::{error::Error, sync::Arc};

use tenure_proto::{LostReason, Token, queue::Identity};

use super::LockAddress;
use crate::{Fault, parts::ErrorParts, plain::plain};

/// A hold that ended before it was released. The resource that it protected may now have another holder.
#[derive(Clone)]
#[non_exhaustive]
pub struct Lost {
    /// The lock and its store.
    pub lock: LockAddress,
    /// The token of the hold.
    pub token: Token,
    /// Why it ended.
    pub reason: LostReason,
    fault: Option<Arc<Fault>>,
    broken_by: Option<Arc<Identity>>,
}

impl Lost {
    /// Makes the error for a hold with this token that ended for this reason.
    #[must_use]
    pub const fn new(lock: LockAddress, token: Token, reason: LostReason) -> Self {
        Self { lock, token, reason, fault: None, broken_by: None }
    }

    pub(crate) fn because(self, fault: Arc<Fault>) -> Self {
        Self { fault: Some(fault), ..self }
    }

    /// Returns why the last renewal failed, if the deadline passed without one: for instance, which store was
    /// unreachable, and the system's error.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_deref()
    }

    pub(crate) fn broken(self, by: Option<Arc<Identity>>) -> Self {
        let broken_by = by.filter(|_| self.reason == LostReason::Taken);
        Self { broken_by, ..self }
    }

    /// Returns who broke the lock, as they say, if they left a note and it arrived before the loss. The
    /// [`reason`](Identity::reason) of the identity says why.
    #[must_use]
    pub fn broken_by(&self) -> Option<&Identity> {
        self.broken_by.as_deref()
    }

    pub(crate) fn parts(&self) -> ErrorParts<'_> {
        let Self { lock, token, reason, fault, broken_by } = self;
        if let Some(by) = broken_by {
            let by = plain(&by.to_string());
            let why = format_args!("the hold with token {token} was lost: broken by {by}");
            return ErrorParts::for_lock(lock, why).help("stop the work it protected");
        }
        let why = match reason {
            LostReason::Taken => "the store says that the lease ended or was taken",
            LostReason::MaxHold => "it reached its max_hold",
            // Any other reason shows as a deadline that passed.
            _ if fault.is_some() => "it was not renewed before its deadline",
            _ => "no renewal was answered before its deadline",
        };
        // A hold that ended otherwise did not end because of its renewals.
        let fault = fault.as_deref().filter(|_| *reason == LostReason::Deadline);
        ErrorParts::for_lock(lock, format_args!("the hold with token {token} was lost: {why}"))
            .because(fault.map(|fault| fault as &(dyn Error + 'static)))
            .help("stop the work it protected")
    }
}

/// Two losses are equal if they concern the same hold and have the same reason.
impl PartialEq for Lost {
    fn eq(&self, other: &Self) -> bool {
        (&self.lock, self.token, self.reason) == (&other.lock, other.token, other.reason)
    }
}

impl Eq for Lost {}
