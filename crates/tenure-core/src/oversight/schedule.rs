//! Reads what is recorded of the slots of a name.

use tenure_proto::{
    Timestamp,
    schedule::{ScheduleState, SlotRecord},
};

use super::inspect;
use crate::{
    Fault, FaultKind, InspectError, LockName,
    context::StoreContext,
    retry_until::{PATIENCE, retry_until},
};

/// What the store has of a name's slots, and its time of day.
#[derive(Clone, Debug)]
pub(crate) struct SlotLook {
    pub(crate) text: Option<String>,
    pub(crate) record: Option<SlotRecord>,
    pub(crate) now: u64,
}

/// Reads the record. Tries until then, but for half a minute at most.
pub(crate) async fn look_at_slots(
    context: &StoreContext,
    name: &LockName,
    until: Timestamp,
) -> Result<SlotLook, InspectError> {
    let until = until.min(context.now().saturating_add(PATIENCE));
    let store = &context.store;
    let stored = retry_until(context, name, until, None, || store.read_slots(name)).await?;
    let record = stored.text.as_deref().map(SlotRecord::read).transpose();
    let record = record.map_err(|bad| {
        let help = "use the version of tenure that wrote it, or another name";
        let fault = Fault::new(FaultKind::Corrupt, bad.to_string(), help);
        InspectError::store(context.address(name), fault)
    })?;
    Ok(SlotLook { text: stored.text, record, now: stored.now })
}

/// What is recorded of the slots of `name`; `None` if nothing is.
pub(crate) async fn schedule(
    context: &StoreContext,
    name: &LockName,
) -> Result<Option<ScheduleState>, InspectError> {
    if let Some(reason) = context.store.capabilities().missing_slot_records() {
        return Err(InspectError::store(context.address(name), reason.into()));
    }
    // First the holder, as when a slot begins: a run that began since is in the record then.
    let mut holders = inspect(context, name).await?.holders;
    holders.retain(|holder| !holder.lingering);
    let tokens: Vec<_> = holders.iter().filter_map(|holder| holder.token).collect();
    let seen = look_at_slots(context, name, Timestamp::NEVER).await?;
    Ok(seen.record.map(|record| record.state(&tokens)))
}
