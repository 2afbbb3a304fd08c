//! Grants, and whether they can still be counted on.

use std::time::Duration;

use tenure_proto::{Hold, Terms, Timestamp, Token};

/// A grant that can still be counted on.
#[derive(Debug)]
pub(crate) struct ValidGrant {
    pub(crate) token: Token,
    pub(super) hold: Hold,
    pub(crate) received: Timestamp,
}

impl ValidGrant {
    /// The grant of a call that was `sent` and answered at these times, with `left` of the lease; `None` if it came too
    /// late to be counted on.
    pub(crate) fn new(
        token: Token,
        left: Duration,
        terms: Terms,
        sent: Timestamp,
        received: Timestamp,
    ) -> Option<Self> {
        let hold = Hold::granted(sent, received, left, terms)?;
        Some(Self { token, hold, received })
    }
}
