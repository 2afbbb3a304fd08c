//! Why a hold ended before it was released.

use std::{error::Error, sync::Arc};

use tenure_proto::{LostReason, Token};

use super::LockAddress;
use crate::Fault;
use crate::parts::ErrorParts;

/// A hold that ended before it was released. Whatever it protected may be in other hands.
#[derive(Clone)]
#[non_exhaustive]
pub struct Lost {
    /// Which lock, in which store.
    pub lock: LockAddress,
    /// The token of the hold.
    pub token: Token,
    /// Why it ended.
    pub reason: LostReason,
    fault: Option<Arc<Fault>>,
}

impl Lost {
    /// The hold with this token ended for this reason.
    #[must_use]
    pub const fn new(lock: LockAddress, token: Token, reason: LostReason) -> Self {
        Self { lock, token, reason, fault: None }
    }

    pub(crate) fn because(self, fault: Arc<Fault>) -> Self {
        Self { fault: Some(fault), ..self }
    }

    /// Why the last renewal failed, where the deadline passed without one: which store was unreachable, say,
    /// and what the system said of it.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_deref()
    }

    pub(crate) fn parts(&self) -> ErrorParts<'_> {
        let Self { lock, token, reason, fault } = self;
        let why = match reason {
            LostReason::Taken => "the store says that the lease ended or was taken",
            LostReason::MaxHold => "it reached its max_hold",
            // Whatever else ends a hold shows as a deadline that passed.
            _ if fault.is_some() => "it was not renewed before its deadline",
            _ => "no renewal was answered before its deadline",
        };
        // What ended a hold otherwise has nothing to do with its renewals.
        let fault = fault.as_deref().filter(|_| *reason == LostReason::Deadline);
        ErrorParts::at(lock, format_args!("the hold with token {token} was lost: {why}"))
            .because(fault.map(|fault| fault as &(dyn Error + 'static)))
            .help("stop the work it protected")
    }
}

/// Two losses are equal if they are the same hold's, for the same reason.
impl PartialEq for Lost {
    fn eq(&self, other: &Self) -> bool {
        (&self.lock, self.token, self.reason) == (&other.lock, other.token, other.reason)
    }
}

impl Eq for Lost {}
