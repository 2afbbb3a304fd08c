//! Taking holds away that were seen, and no others.

use std::time::Duration;

use tenure_proto::{
    HoldId,
    queue::{Contender, Snapshot},
};

use crate::{
    Fault, FaultKind, InspectError, LockName, context::StoreContext, error::StoreFailure,
    retry_until::ask_once,
};

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Takes `name` from this hold; nothing if that is not there any more.
pub(crate) async fn evict(
    context: &StoreContext,
    name: &LockName,
    hold: HoldId,
) -> Result<Option<Contender>, InspectError> {
    // Once: what a second call would find says nothing of what became of the first.
    let asked = ask_once(context, PATIENCE, context.store.evict_hold(name, hold)).await;
    asked.map_err(|fault| failed(context, name, fault))
}

/// Takes `name` from all holds that were `seen`, as far as they are still there.
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

/// Those of all holds; none unless each has one, as the others could not be told from what comes after them.
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
