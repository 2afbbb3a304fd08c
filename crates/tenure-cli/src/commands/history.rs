//! `tenure history`: what happened to one lock.

use tenure::Tenure;

use crate::{
    args,
    exit::Failure,
    output::{Reporter, history, json, write_answer},
};

pub(super) async fn show_history(
    args: args::History,
    tenure: Tenure,
    voice: &Reporter,
) -> Result<u8, Failure> {
    let mut entries = tenure.history(&args.name).await.map_err(Failure::failed)?;
    if let Some(limit) = args.limit {
        entries.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    if voice.is_json() {
        write_answer(&json::history(&args.name, &entries))?;
    } else if !voice.is_quiet() {
        write_answer(&history::table(&args.name, &entries))?;
    }
    Ok(0)
}
