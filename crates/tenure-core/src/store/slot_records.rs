//! What a store keeps of the slots of a name, beside its lock.

use std::time::Duration;

use tenure_proto::{
    rule::{Rule, kept},
    schedule::SlotRecord,
};

use super::{Capabilities, Reason};
use crate::{Fault, FaultKind};

/// The record of a name's slots as the store has it, and when that was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredSlots {
    /// The record; `None` if there is none, or its time is over.
    pub text: Option<String>,
    /// The store's time of day, in microseconds since the Unix epoch.
    pub now: u64,
}

/// A write of the record of a name's slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotsWrite {
    /// The record that this one replaces; `None` if there is none. A copy of an earlier write that comes late finds
    /// another one, and changes nothing.
    pub before: Option<String>,
    /// The new record, of at most [`SlotRecord::MAX`] bytes.
    pub text: String,
    /// How long it is kept, from now on.
    pub keep: Duration,
}

impl SlotsWrite {
    /// Returns whether the record is to be written where the store has `known`.
    #[must_use]
    pub fn replaces(&self, known: Option<&str>) -> bool {
        known == self.before.as_deref()
            || known == Some(&*self.text)
            || !kept(Rule::LateCopyOfSlotsRefused)
    }
}

/// A store's answer to a write of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotsWritten {
    /// The record is as it was given.
    Written,
    /// The owner does not hold the name alone, so nothing was changed.
    NotHeld,
    /// The record is neither the one that was to be replaced nor the new one, so nothing was changed.
    Changed,
}

const NO_RECORDS: Reason = Reason {
    what: "this store keeps no record of what ran, so it cannot run something once per slot",
    help: "use a Redis server, PostgreSQL, MySQL or the embedded store for that",
};

impl Capabilities {
    /// Why no slots are recorded, if none are.
    pub(crate) fn missing_slot_records(&self) -> Option<Reason> {
        (!self.slot_records).then(|| self.reasons.slot_records.unwrap_or(NO_RECORDS))
    }
}

/// Returns the fault of a store that does not declare [`Capabilities::slot_records`].
#[must_use]
pub fn no_slot_records() -> Fault {
    NO_RECORDS.into()
}

/// Refuses a record that is longer than [`SlotRecord::MAX`].
///
/// # Errors
/// A fault of kind [`Misconfigured`](FaultKind::Misconfigured).
pub fn check_slot_record(text: &str) -> Result<(), Fault> {
    if text.len() <= SlotRecord::MAX {
        return Ok(());
    }
    let (length, most) = (text.len(), SlotRecord::MAX);
    let what = format!("a record of {length} bytes is longer than the {most} that a store keeps");
    Err(Fault::new(FaultKind::Misconfigured, what, "choose a shorter schedule or name of a slot"))
}
