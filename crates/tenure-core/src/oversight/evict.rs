//! Evicts holds that were seen, and no others.

use std::time::Duration;

use tenure_proto::{
    HoldId,
    queue::{Contender, Snapshot},
};

use crate::{
    Fault, FaultKind, InspectError, LockName, context::StoreContext, error::StoreFailure,
    retry_until::ask_once,
};

/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Evicts this hold of `name`, or none if it no longer exists.
pub(crate) async fn evict(
    context: &StoreContext,
    name: &LockName,
    hold: HoldId,
) -> Result<Option<Contender>, InspectError> {
    // Once: the result of a second call would not show what the first one did.
    let asked = ask_once(context, PATIENCE, context.store.evict_hold(name, hold)).await;
    let evicted = asked.map_err(|fault| failed(context, name, fault))?;
    record_break(context, name, evicted.as_slice(), None);
    Ok(evicted)
}

/// Adds to the history of `name` that this process broke these holds, and why.
pub(crate) fn record_break(
    context: &StoreContext,
    name: &LockName,
    evicted: &[Contender],
    reason: Option<String>,
) {
    if !context.store.capabilities().history || context.is_forked() {
        return;
    }
    let now = context.now();
    for holder in evicted {
        context.journal.broken(name, holder, context.identity(reason.clone()), now);
    }
}

/// Evicts all holds of `name` that were `seen` and still exist.
pub(crate) async fn evict_seen(
    context: &StoreContext,
    name: &LockName,
    seen: &Snapshot,
) -> Result<Vec<Contender>, InspectError> {
    let ids = ids(seen).map_err(|fault| failed(context, name, fault))?;
    let mut evicted = Vec::new();
    for hold in ids {
        evicted.extend(evict(context, name, hold).await?);
    }
    Ok(evicted)
}

/// The ids of all holds; an error unless each has one, because a hold without an id cannot be told from later holds.
fn ids(seen: &Snapshot) -> Result<Vec<HoldId>, Fault> {
    let each = seen.holders.iter().map(|holder| holder.id);
    each.collect::<Option<_>>().ok_or_else(|| {
        let what = "this store cannot tell a hold of this lock from others, as it has no id";
        let help = "evict the holds that have one, or all of them with `tenure break`";
        Fault::new(FaultKind::Unsupported, what, help)
    })
}

fn failed(context: &StoreContext, name: &LockName, fault: Fault) -> InspectError {
    InspectError::Store(Box::new(StoreFailure::new(context.address(name), fault)))
}
