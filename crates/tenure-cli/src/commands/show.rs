//! `tenure show`: one lock.

use tenure::Tenure;

use super::store_failure;
use crate::{
    args,
    exit::{self, Failure},
    output::{Reporter, json, tables, write_answer},
};

pub(super) async fn show(
    args: args::Show,
    tenure: Tenure,
    voice: &Reporter,
) -> Result<u8, Failure> {
    let seen = tenure.store().inspect(&args.name).await;
    let seen = seen.map_err(|fault| store_failure(&tenure, &args.name, &fault))?;
    if voice.is_json() {
        write_answer(&json::snapshot(&args.name, &seen))?;
    } else if !voice.is_quiet() {
        write_answer(&tables::snapshot(&args.name, &seen))?;
    }
    Ok(if args.exit_code && !seen.holders.is_empty() { exit::HELD } else { 0 })
}
