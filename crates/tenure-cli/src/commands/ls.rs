//! `tenure ls`: the locks in use.

use tenure::{Tenure, inspect::Snapshot};

use crate::{
    args,
    exit::Failure,
    label::{LabelFilter, UserAtHost},
    output::{Reporter, json, tables, write_answer},
};

/// More names than anybody reads.
const MOST: usize = 10_000;

pub(super) async fn ls(args: args::Ls, tenure: Tenure, voice: &Reporter) -> Result<u8, Failure> {
    let wanted = LabelFilter {
        mine: args.mine.then(UserAtHost::from_system),
        host: args.host,
        part: args.label,
    };
    let listed = tenure.list(&args.prefix).limit(MOST).await;
    let mut listing = listed.map_err(|error| Failure::failed(&error))?;
    listing.names.retain(|(_, seen)| is_wanted(seen, &wanted));
    if voice.is_json() {
        write_answer(&json::listing(&listing))?;
        return Ok(0);
    }
    let told = tables::listing(&listing, !wanted.is_all());
    if !told.is_empty() {
        write_answer(&told)?;
    } else if wanted.is_all() && args.prefix.is_empty() {
        voice.remark(&format!("no lock is in use in {}", tenure.store().location()));
    } else {
        voice.remark(&format!("no lock in use in {} matches", tenure.store().location()));
    }
    Ok(0)
}

/// Whether somebody who is asked for holds the name or waits for it.
fn is_wanted(seen: &Snapshot, wanted: &LabelFilter) -> bool {
    wanted.is_all()
        || seen.holders.iter().any(|holder| wanted.has(&holder.label, &holder.identity()))
        || seen.waiters.iter().any(|waiter| wanted.has(&waiter.label, &waiter.identity()))
}
