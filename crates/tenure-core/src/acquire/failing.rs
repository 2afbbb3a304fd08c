//! A store that fails again and again while it is asked.

use tenure_proto::Timestamp;

use crate::{Fault, FaultKind};

/// What is known of asks of which none was answered.
#[derive(Debug)]
pub(super) struct Failing {
    /// When the first of them was sent.
    pub(super) since: Timestamp,
    last: Fault,
    /// Whether any of them may have had an effect.
    doubted: bool,
}

impl Failing {
    pub(super) fn new(since: Timestamp, fault: Fault) -> Self {
        let doubted = fault.kind() == FaultKind::InDoubt;
        Self { since, last: fault, doubted }
    }

    /// Another ask failed, too.
    pub(super) fn again(self, fault: Fault) -> Self {
        let Self { since, doubted, .. } = self;
        let next = Self::new(since, fault);
        Self { doubted: doubted || next.doubted, ..next }
    }

    /// Why the last of them failed.
    pub(super) fn last(&self) -> &Fault {
        &self.last
    }

    /// What all of them come to.
    pub(super) fn verdict(&self) -> Fault {
        if !self.doubted || self.last.kind() == FaultKind::InDoubt {
            return self.last.clone();
        }
        let what = self.last.what_and_why();
        let what = format!("{what}, and no answer came before, so the lock may have been acquired");
        Fault::new(FaultKind::InDoubt, what, self.last.cure())
    }
}
