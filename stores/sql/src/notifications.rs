//! The notifications of a change.

use tenure_core::proto::queue::{Client, Wake};

/// The notifications to send with a change, in the same step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notifications {
    /// The waiters that may ask now.
    pub wakes: Vec<Wake>,
    /// The processes whose holds of the name were evicted.
    pub evicted: Vec<Client>,
}

impl Notifications {
    /// Returns whether there is nothing to send.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.wakes.is_empty() && self.evicted.is_empty()
    }

    /// Adds these notifications.
    pub(crate) fn extend(&mut self, more: Self) {
        self.wakes.extend(more.wakes);
        self.evicted.extend(more.evicted);
    }
}

impl From<Vec<Wake>> for Notifications {
    fn from(wakes: Vec<Wake>) -> Self {
        Self { wakes, evicted: Vec::new() }
    }
}
