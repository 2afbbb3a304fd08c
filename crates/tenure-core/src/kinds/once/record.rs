//! The record of the slots at the store: writing it while the lock is held.

use std::time::Duration;

use tenure_proto::{
    LostReason, Timestamp,
    schedule::{Slot, SlotRecord},
};

use crate::{
    Fault, FaultKind, Guard, InspectError,
    error::{Lost, OnceError},
    oversight::look_at_slots,
    retry_until::retry_until,
    store::{SlotsWrite, SlotsWritten},
};

/// Between two tries of a write that the store did not answer.
const PAUSE: Duration = Duration::from_millis(50);

/// Notes the start of a run in place of `before`, while the lock is held. A hold that is over by then runs nothing,
/// whatever became of the note.
pub(super) async fn note_start(
    guard: &Guard,
    slot: &Slot,
    before: Option<String>,
    record: &SlotRecord,
    now: u64,
) -> Result<(), OnceError> {
    match write(guard, slot, before, record, now).await? {
        // The answer may be late, and another process run the slot by now.
        Outcome::Written => guard.check().map(drop).map_err(Into::into),
        Outcome::Over { .. } => Err(taken(guard).into()),
    }
}

/// Notes that a slot is finished, while the lock is held. What was not confirmed is looked up: it may have been written
/// before the hold ended.
pub(super) async fn note_finish(
    guard: &Guard,
    slot: &Slot,
    before: Option<String>,
    record: &SlotRecord,
    now: u64,
) -> Result<(), OnceError> {
    let Outcome::Over { in_doubt } = write(guard, slot, before, record, now).await? else {
        return Ok(());
    };
    let (context, lost) = (guard.held().lease().context(), taken(guard));
    if !in_doubt {
        return Err(lost.into());
    }
    let seen = match look_at_slots(context, guard.name(), Timestamp::NEVER).await {
        Ok(seen) => seen.record,
        Err(error) => return Err(OnceError::in_doubt(lost, error)),
    };
    match seen.and_then(|record| record.finished_by(&slot.id)) {
        Some(token) if token == guard.token() => Ok(()),
        None => Err(lost.into()),
        Some(_) => {
            let what = "a later run finished this slot or a later one, so it is not known whether this run did";
            let fault = Fault::new(FaultKind::InDoubt, what, "nothing needs to be done");
            Err(OnceError::in_doubt(
                lost,
                InspectError::store(context.address(guard.name()), fault),
            ))
        }
    }
}

/// What became of a write.
enum Outcome {
    Written,
    /// The hold was over. If it is in doubt, an earlier call may have written the record.
    Over {
        in_doubt: bool,
    },
}

async fn write(
    guard: &Guard,
    slot: &Slot,
    before: Option<String>,
    record: &SlotRecord,
    now: u64,
) -> Result<Outcome, OnceError> {
    let (lease, name) = (guard.held().lease(), guard.name());
    let (context, owner) = (lease.context(), lease.owner());
    let (text, keep) = (record.to_text(), SlotRecord::kept_for(slot, now));
    let (mut write, mut in_doubt) = (SlotsWrite { before, text, keep }, false);
    loop {
        let until = guard.deadline();
        let mut calls = 0_u32;
        let call = || {
            calls = calls.saturating_add(1);
            context.store.write_slots(name, &owner, &write)
        };
        let answer = retry_until(context, name, until, None, call).await;
        in_doubt |= calls > 1;
        match answer {
            Ok(SlotsWritten::Written) => return Ok(Outcome::Written),
            Ok(SlotsWritten::NotHeld) => return Ok(Outcome::Over { in_doubt }),
            Ok(SlotsWritten::Changed) => {
                // Nobody else writes while this lock is held. It may have been kept no longer.
                let seen = look_at_slots(context, name, Timestamp::NEVER).await?;
                if seen.text.is_some() || write.before.is_none() {
                    return Ok(Outcome::Over { in_doubt });
                }
                write.before = None;
            }
            Err(error) if !error.is_transient() => return Err(error.into()),
            Err(error) => {
                in_doubt = true;
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
fn taken(guard: &Guard) -> Lost {
    let known = guard.check().err();
    let lease = guard.held().lease();
    known.unwrap_or_else(|| lease.context().lost(guard.name(), guard.token(), LostReason::Taken))
}
