//! Reads the history of a lock.

use tenure_proto::{
    Token,
    history::{Ending, HistoryEntry, entries},
    queue::Snapshot,
};

use crate::{
    InspectError, LockName,
    context::StoreContext,
    retry_until::{PATIENCE, retry_until},
};

/// The history of `name`, the last hold first.
pub(crate) async fn history(
    context: &StoreContext,
    name: &LockName,
) -> Result<Vec<HistoryEntry>, InspectError> {
    if let Some(reason) = context.store.capabilities().missing_history() {
        return Err(InspectError::store(context.address(name), reason.into()));
    }
    let until = context.now().saturating_add(PATIENCE);
    let read = || context.store.read_history(name);
    let stored = retry_until(context, name, until, None, read).await?;
    // After the events: who is not held by then, and whose end is not among them, may have ended in between.
    let mut held = tokens(&super::inspect(context, name).await?);
    let mut told = entries(&stored.events, &held, stored.now);
    let is_open = |entry: &HistoryEntry| entry.ended == Some(Ending::Expired);
    if told.iter().any(is_open) {
        let again = retry_until(context, name, until, None, read).await?;
        // Others may have got it since.
        held.extend(tokens(&super::inspect(context, name).await?));
        told = entries(&again.events, &held, again.now);
    }
    Ok(told)
}

/// The tokens of those who hold it.
fn tokens(seen: &Snapshot) -> Vec<Token> {
    let held = seen.holders.iter().filter(|holder| !holder.lingering);
    held.filter_map(|holder| holder.token).collect()
}
