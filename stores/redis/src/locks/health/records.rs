//! Names whose records this version cannot read, as those that another version of tenure keeps.

use futures_util::{StreamExt, stream};
use tenure_core::{FaultKind, store::Diagnostic};

use super::ProbeContext;
use crate::locks::listing;

/// How many names are looked at.
const MOST: usize = 1_000;
/// How many of them together.
const TOGETHER: usize = 64;

/// The names that nobody can lock, if some of those that are looked at are such.
pub(super) async fn unread(probe: &ProbeContext<'_>) -> Option<Diagnostic> {
    // Who may not list the names is not asked for more here: `tenure ls` says it.
    let names = listing::some_names(probe.transport).await.ok()?;
    let looks = names.into_iter().take(MOST).map(async |name| {
        let fault = probe.store.inspect(&name).await.err()?;
        (fault.kind() == FaultKind::Corrupt).then_some((name, fault))
    });
    let unread: Vec<_> = stream::iter(looks).buffered(TOGETHER).collect().await;
    let unread: Vec<_> = unread.into_iter().flatten().collect();
    let (name, fault) = unread.first()?;
    let found = format!(
        "{} of the inspected names cannot be locked, such as {:?}: {}",
        unread.len(),
        name.as_str(),
        fault.message_and_cause()
    );
    Some(Diagnostic::bad("records", found, "S1", fault.help()))
}
