//! `tenure ls`: the locks in use.

use tenure::Tenure;

use crate::{
    args,
    exit::Failure,
    output::{Voice, answer, json, tables},
};

/// More names than anybody reads.
const MOST: usize = 10_000;

pub(super) async fn ls(args: args::Ls, tenure: Tenure, voice: &Voice) -> Result<u8, Failure> {
    let store = tenure.store();
    let listing = store.list(&args.prefix, MOST).await.map_err(|fault| {
        Failure::Failed(format!("cannot list the locks in {}: {fault}", store.location()))
    })?;
    if voice.is_json() {
        answer(&json::listing(&listing))?;
    } else if !listing.names.is_empty() {
        answer(&tables::listing(&listing))?;
    }
    Ok(0)
}
