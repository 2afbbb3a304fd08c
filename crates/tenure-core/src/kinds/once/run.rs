//! A run of a slot: the lock is held, and its work is being done.

use std::ops::Deref;

use tenure_proto::schedule::{Slot, SlotRecord};

use super::record::note_finish;
use crate::{Guard, error::OnceError};

/// A run of a slot. It has everything of the [`Guard`] of its lock.
///
/// Call [`finish`](Self::finish) when the work is done. If this is dropped instead, the lock is released and the slot
/// stays open: another caller may try it again.
#[derive(Debug)]
#[must_use = "the lock is released, and the slot stays open, as soon as this is dropped"]
pub struct SlotRun {
    guard: Guard,
    slot: Slot,
    record: SlotRecord,
    /// The store's time of day at the start.
    started: u64,
}

impl SlotRun {
    pub(super) const fn new(guard: Guard, slot: Slot, record: SlotRecord, started: u64) -> Self {
        Self { guard, slot, record, started }
    }

    /// Returns the slot.
    #[must_use]
    pub const fn slot(&self) -> &Slot {
        &self.slot
    }

    /// Returns how many runs of this slot have begun, this one included.
    #[must_use]
    pub fn tries(&self) -> u32 {
        self.record.tries(&self.slot.id)
    }

    /// Returns whether this run has marked its slot as finished.
    #[must_use]
    pub fn is_marked(&self) -> bool {
        self.record.finished_by(&self.slot.id) == Some(self.guard.token())
    }

    /// Marks the slot as finished, and releases the lock. When this returns `Ok`, the store has recorded the slot.
    ///
    /// # Errors
    /// [`OnceError::Lost`] if the lock was lost before: the slot is not marked, and another run of it may have begun.
    /// [`OnceError::InDoubt`] if the store did not answer until the hold ended: the slot may be marked or not.
    ///
    /// # Cancel safety
    /// If this is dropped, the slot may be marked or not, and the lock is released.
    pub async fn finish(mut self) -> Result<(), OnceError> {
        self.mark().await?;
        // The slot is recorded. A lease that is not released ends by itself.
        drop(self.guard.release().await);
        Ok(())
    }

    /// Marks the slot as finished, and keeps the lock. A slot that was [marked at the
    /// start](tenure_proto::schedule::Mark::AtStart) is left as it is.
    ///
    /// # Errors
    /// As for [`finish`](Self::finish).
    ///
    /// # Cancel safety
    /// If this is dropped, the slot may be marked or not.
    pub async fn mark(&mut self) -> Result<(), OnceError> {
        if self.is_marked() {
            return Ok(());
        }
        let mut record = self.record.clone();
        record.finish(&self.slot, self.guard.token());
        let before = Some(self.record.to_text());
        note_finish(&self.guard, &self.slot, before, &record, self.started).await?;
        self.record = record;
        Ok(())
    }

    /// Returns the guard of the lock, without marking the slot.
    pub fn into_guard(self) -> Guard {
        self.guard
    }
}

impl Deref for SlotRun {
    type Target = Guard;

    fn deref(&self) -> &Guard {
        &self.guard
    }
}
