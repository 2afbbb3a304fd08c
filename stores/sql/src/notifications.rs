//! Who is told of a change.

use tenure_core::proto::queue::{Client, Wake};

/// Who is to be told of a change, in the same step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notifications {
    /// Whose turn it is to ask.
    pub wakes: Vec<Wake>,
    /// The processes whose holds of the name were taken away.
    pub evicted: Vec<Client>,
}

impl Notifications {
    /// Whether nobody is to be told.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.wakes.is_empty() && self.evicted.is_empty()
    }

    /// These as well.
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
