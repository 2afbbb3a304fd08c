//! `tenure ls`: the locks in use.

use tenure::{Tenure, inspect::Snapshot};
use tenure_core::proto::quorum::is_reserved;

use crate::{
    args,
    exit::Failure,
    explanation::Explanation,
    label::{Me, Wanted},
    output::{Voice, answer, json, tables},
};

const QUORUM: &str = "this store is a member of a quorum, whose own notes are left out (list the quorum to see \
                      its locks as a majority has them)";

/// More names than anybody reads.
const MOST: usize = 10_000;

pub(super) async fn ls(args: args::Ls, tenure: Tenure, voice: &Voice) -> Result<u8, Failure> {
    let store = tenure.store();
    let wanted = Wanted { mine: args.mine.then(Me::known), host: args.host, part: args.label };
    let mut listing = store.list(&args.prefix, MOST).await.map_err(|fault| {
        let what = "the locks cannot be listed";
        Failure::Failed(Explanation::of_store(what, store.location(), &fault))
    })?;
    // What a quorum notes at this member is no lock of anybody's.
    let all = listing.names.len();
    listing.names.retain(|(name, _)| !is_reserved(name.as_str()));
    if listing.names.len() < all {
        listing.missing.push(QUORUM.to_owned());
    }
    listing.names.retain(|(_, seen)| is_wanted(seen, &wanted));
    if voice.is_json() {
        answer(&json::listing(&listing))?;
        return Ok(0);
    }
    let told = tables::listing(&listing, !wanted.is_all());
    if !told.is_empty() {
        answer(&told)?;
    } else if wanted.is_all() && args.prefix.is_empty() {
        voice.remark(&format!("no lock is in use in {}", store.location()));
    } else {
        voice.remark(&format!("no lock in use in {} is one of those asked for", store.location()));
    }
    Ok(0)
}

/// Whether somebody who is asked for holds the name or waits for it.
fn is_wanted(seen: &Snapshot, wanted: &Wanted) -> bool {
    let mut labels = (seen.holders.iter().map(|holder| &holder.label))
        .chain(seen.waiters.iter().map(|waiter| &waiter.label));
    wanted.is_all() || labels.any(|label| wanted.has(label))
}
