//! The names in use.

use tenure_core::{Fault, FaultKind, LockName, proto::queue::Snapshot, store::Listing};

use crate::{
    Database, ListedRow, SqlStore,
    write::decision::{at, corrupt_row_message},
};

/// How many rows are looked at at once.
const PAGE: usize = 500;
/// How many reasons are given why names are missing.
const REASONS: usize = 16;
/// How many characters are shown of a name that can be none.
const SHOWN: usize = 64;

impl<D: Database + ?Sized> SqlStore<D> {
    pub(crate) async fn names(&self, prefix: &str, limit: usize) -> Result<Listing, Fault> {
        let mut found: Vec<(LockName, Snapshot)> = Vec::new();
        let (mut missing, mut after) = (Vec::new(), Vec::new());
        loop {
            let page = self.0.list(prefix, &after, PAGE).await?;
            let is_last = page.len() < PAGE;
            for row in page {
                // Else it would not end.
                if row.name <= after && !after.is_empty() {
                    return Err(out_of_order(&*self.0, &shown(&row.name)));
                }
                // One row in trouble must not hide the others.
                match self.seen(&row) {
                    Some((name, seen)) if seen.is_held() || !seen.waiters.is_empty() => {
                        if found.len() == limit {
                            return Ok(listing(found, true, missing));
                        }
                        found.push((name, seen));
                    }
                    Some(_) => {}
                    None if missing.len() < REASONS => {
                        missing.push(corrupt_row_message(&*self.0, &shown(&row.name)));
                    }
                    None => {}
                }
                after = row.name;
            }
            if is_last {
                return Ok(listing(found, false, missing));
            }
        }
    }

    fn seen(&self, row: &ListedRow) -> Option<(LockName, Snapshot)> {
        let name = LockName::new(std::str::from_utf8(&row.name).ok()?).ok()?;
        let snapshot = row.snapshot.as_ref().ok()?;
        let state = snapshot.row.state(snapshot.floor).ok()?;
        Some((name, state.inspect(&at(snapshot, &*self.0))))
    }
}

/// So much of a name that people know which one it is.
fn shown(name: &[u8]) -> String {
    let whole = String::from_utf8_lossy(name);
    let mut shown: String = whole.chars().take(SHOWN).collect();
    if shown.len() < whole.len() {
        shown.push('…');
    }
    shown
}

/// A database that says so does not say which names it has.
fn out_of_order<D: Database + ?Sized>(database: &D, name: &str) -> Fault {
    let what = format!(
        "{} lists the names of locks in the wrong order: {name:?} comes twice, or too late",
        database.location(),
    );
    let help = "check which proxies are between this process and the server, and whether its indexes are sound";
    Fault::new(FaultKind::Corrupt, what, help)
}

fn listing(found: Vec<(LockName, Snapshot)>, more: bool, missing: Vec<String>) -> Listing {
    let mut listing = Listing::new(found, more);
    listing.missing = missing;
    listing
}
