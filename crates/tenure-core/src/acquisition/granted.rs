//! What a grant of the store is worth.

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
    /// The grant of a call that was `sent` and answered then, with so much `left` of the lease; nothing if it came too
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
