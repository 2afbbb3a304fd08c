//! Calls to a store by operators, and by programs that display locks, without being a contender.

mod evict;
mod history;
mod list;
mod schedule;
mod watch;

pub(crate) use evict::{evict, evict_seen, record_break};
pub(crate) use history::history;
pub use list::List;
pub(crate) use schedule::{SlotLook, look_at_slots, schedule};
use tenure_proto::queue::Snapshot;
pub use watch::Watcher;

use crate::{
    InspectError, LockName,
    context::StoreContext,
    error::StoreError,
    retry_until::{PATIENCE, ask_once, retry_until},
    store::Diagnostic,
};

/// The holders and waiters of a name, by the store's state at one moment.
pub(crate) async fn inspect(
    context: &StoreContext,
    name: &LockName,
) -> Result<Snapshot, InspectError> {
    let until = context.now().saturating_add(PATIENCE);
    retry_until(context, name, until, None, || context.store.inspect(name)).await
}

/// Which promises hold in the store.
pub(crate) async fn health(context: &StoreContext) -> Result<Vec<Diagnostic>, StoreError> {
    let asked = ask_once(context, PATIENCE, context.store.health()).await;
    asked.map_err(|fault| StoreError::new(context.store.location(), fault))
}
