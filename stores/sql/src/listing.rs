//! The names in use.

use tenure_core::{Fault, FaultKind, LockName, proto::queue::Snapshot, store::Listing};

use crate::{
    Database, SqlStore,
    change::{at, corrupt},
};

/// How many rows are looked at at once.
const PAGE: usize = 500;
/// How many reasons are given why names are missing.
const REASONS: usize = 16;

impl<D: Database> SqlStore<D> {
    pub(crate) async fn names(&self, prefix: &str, limit: usize) -> Result<Listing, Fault> {
        let mut found: Vec<(LockName, Snapshot)> = Vec::new();
        let (mut missing, mut after) = (Vec::new(), None::<LockName>);
        loop {
            let page = self.0.list(prefix, after.as_ref(), PAGE).await?;
            let is_last = page.len() < PAGE;
            for (name, sight) in page {
                // Else it would not end.
                if after.as_ref().is_some_and(|after| name <= *after) {
                    return Err(out_of_order(&*self.0, &name));
                }
                match sight.row.state(sight.floor) {
                    Ok(state) => {
                        let seen = state.inspect(&at(&sight, &*self.0));
                        if seen.is_held() || !seen.waiters.is_empty() {
                            if found.len() == limit {
                                return Ok(listing(found, true, missing));
                            }
                            found.push((name.clone(), seen));
                        }
                    }
                    Err(_) if missing.len() < REASONS => {
                        missing.push(corrupt(&*self.0, &name).what().to_owned());
                    }
                    Err(_) => {}
                }
                after = Some(name);
            }
            if is_last {
                return Ok(listing(found, false, missing));
            }
        }
    }
}

/// A database that says so does not say which names it has.
fn out_of_order<D: Database>(database: &D, name: &LockName) -> Fault {
    let what = format!(
        "{} lists the names of locks in another order than theirs: {:?} comes twice, or too late",
        database.location(),
        name.as_str()
    );
    let cure =
        "see what stands between this process and the server, and whether its indexes are sound";
    Fault::new(FaultKind::Corrupt, what, cure)
}

fn listing(found: Vec<(LockName, Snapshot)>, more: bool, missing: Vec<String>) -> Listing {
    let mut listing = Listing::new(found, more);
    listing.missing = missing;
    listing
}
