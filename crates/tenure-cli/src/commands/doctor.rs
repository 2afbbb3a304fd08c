//! `tenure doctor`: how far the way to the store leads, which promise holds there, and why not.

use tenure::{config::Config, store::Severity};

use tenure_core::plain::plain;

use crate::{
    exit::{self, Failure},
    output::{Reporter, diagnostics, json, write_answer},
    store,
};

pub(super) async fn doctor(config: &Config, voice: &Reporter) -> Result<u8, Failure> {
    let chosen_by = config.store_chosen_by();
    let chosen_by = chosen_by.as_deref();
    let seen = store::examine(config).await?;
    if voice.is_json() {
        write_answer(&json::diagnostics(seen.kind, &seen.location, chosen_by, &seen.diagnostics))?;
    } else if !voice.is_quiet() {
        write_answer(&format!(
            "Locks are kept in {}.\n{}\n\n{}",
            plain(&seen.location),
            chosen_by.map_or_else(
                || "No setting chooses another store.".to_owned(),
                |by| format!("That was chosen by {}.", plain(by)),
            ),
            diagnostics::list(&seen.diagnostics)
        ))?;
    }
    let bad = seen.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Bad);
    Ok(if bad { exit::UNHEALTHY } else { 0 })
}
