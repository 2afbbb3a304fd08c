//! The record of the slots at the store: reading it, and writing it while the lock is held.

use std::time::Duration;

use tenure_proto::{
    LostReason,
    schedule::{Slot, SlotRecord},
};

use crate::{
    Fault, FaultKind, Guard, InspectError, LockName,
    context::StoreContext,
    error::{Lost, OnceError},
    retry_until::{PATIENCE, retry_until},
    store::{SlotsWrite, SlotsWritten},
};

/// Between two tries of a write that the store did not answer.
const PAUSE: Duration = Duration::from_millis(50);

/// What the store has of a name's slots, and its time of day.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub(super) text: Option<String>,
    pub(super) record: Option<SlotRecord>,
    pub(super) now: u64,
}

/// Reads the record.
pub(super) async fn look(context: &StoreContext, name: &LockName) -> Result<Look, InspectError> {
    let until = context.now().saturating_add(PATIENCE);
    let store = &context.store;
    let stored = retry_until(context, name, until, None, || store.read_slots(name)).await?;
    let record = stored.text.as_deref().map(SlotRecord::read).transpose();
    let record = record.map_err(|bad| {
        let help = "use the version of tenure that wrote it, or another name";
        let fault = Fault::new(FaultKind::Corrupt, bad.to_string(), help);
        InspectError::store(context.address(name), fault)
    })?;
    Ok(Look { text: stored.text, record, now: stored.now })
}

/// Writes the record in place of `before` while the lock is held. What was not confirmed is looked up. Returns whether
/// the lock was still held when the store answered.
pub(super) async fn write(
    guard: &Guard,
    slot: &Slot,
    before: Option<String>,
    record: &SlotRecord,
    now: u64,
) -> Result<bool, OnceError> {
    let (lease, name) = (guard.held().lease(), guard.name());
    let (context, owner) = (lease.context(), lease.owner());
    let (text, keep) = (record.to_text(), SlotRecord::kept_for(slot, now));
    let mut write = SlotsWrite { before, text, keep };
    loop {
        let until = guard.deadline();
        let call = || context.store.write_slots(name, &owner, &write);
        match retry_until(context, name, until, None, call).await {
            Ok(SlotsWritten::Written) => return Ok(guard.check().is_ok()),
            Ok(SlotsWritten::NotHeld) => {
                // An earlier call may have written it, before the hold ended.
                let seen = look(context, name).await;
                let is_written = seen.is_ok_and(|seen| seen.text.as_ref() == Some(&write.text));
                return if is_written { Ok(false) } else { Err(taken(guard).into()) };
            }
            Ok(SlotsWritten::Changed) => {
                // Nobody else writes while this lock is held. It may have been kept no longer.
                let seen = look(context, name).await?;
                if seen.text.is_some() || write.before.is_none() {
                    return Err(taken(guard).into());
                }
                write.before = None;
            }
            Err(error) if !error.is_transient() => return Err(error.into()),
            Err(error) => {
                if let Err(lost) = guard.check() {
                    return Err(OnceError::in_doubt(lost, error));
                }
                // It was renewed since.
                if guard.deadline() <= until {
                    let soon = context.now().saturating_add(PAUSE);
                    context.clock.sleep_until(soon.min(until)).await;
                }
            }
        }
    }
}

/// The store says that the hold is over.
pub(super) fn taken(guard: &Guard) -> Lost {
    let known = guard.check().err();
    let lease = guard.held().lease();
    known.unwrap_or_else(|| lease.context().lost(guard.name(), guard.token(), LostReason::Taken))
}
