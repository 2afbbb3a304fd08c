//! The names in use.

use tenure_core::{Fault, LockName, proto::queue::Snapshot, store::Listing};

use crate::{
    Database, SqlStore,
    change::{at, corrupt},
};

/// How many rows are looked at at once.
const PAGE: usize = 500;

impl<D: Database> SqlStore<D> {
    pub(crate) async fn names(&self, prefix: &str, limit: usize) -> Result<Listing, Fault> {
        let mut found: Vec<(LockName, Snapshot)> = Vec::new();
        let (mut missing, mut after) = (Vec::new(), None);
        loop {
            let page = self.0.list(prefix, after.as_ref(), PAGE).await?;
            let is_last = page.len() < PAGE;
            for (name, sight) in page {
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
                    Err(_) => missing.push(corrupt(&*self.0, &name).what().to_owned()),
                }
                after = Some(name);
            }
            if is_last {
                return Ok(listing(found, false, missing));
            }
        }
    }
}

fn listing(found: Vec<(LockName, Snapshot)>, more: bool, missing: Vec<String>) -> Listing {
    let mut listing = Listing::new(found, more);
    listing.missing = missing;
    listing
}
