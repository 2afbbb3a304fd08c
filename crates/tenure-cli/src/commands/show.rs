//! `tenure show`: one lock.

use std::time::Duration;

use tenure::Tenure;
use tenure_core::plain::plain;
use tokio::time::timeout;

use super::store_failure;
use crate::{
    args,
    exit::{self, Failure},
    output::{Reporter, history, json, schedule, tables, write_answer},
};

/// How long the last holder is looked for, and then the schedule: the lock is known by then.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) async fn show(
    args: args::Show,
    tenure: Tenure,
    voice: &Reporter,
) -> Result<u8, Failure> {
    let seen = tenure.store().inspect(&args.name).await;
    let seen = seen.map_err(|fault| store_failure(&tenure, &args.name, &fault))?;
    // A user who may read the lock and not its notes sees the lock.
    let asks = match &*seen.holders {
        [] => None,
        _ => tenure.release_request(&args.name).await.ok().flatten(),
    };
    // Who had a free lock last, if anybody knows.
    let last = match &*seen.holders {
        [] if tenure.store().capabilities().history => {
            let history = timeout(PATIENCE, tenure.history(&args.name)).await;
            let mut entries = history.ok().and_then(Result::ok).into_iter().flatten();
            entries.find(|entry| entry.ended.is_some())
        }
        _ => None,
    };
    let schedule = if tenure.store().capabilities().slot_records {
        let schedule = timeout(PATIENCE, tenure.schedule(&args.name)).await;
        schedule.ok().and_then(Result::ok).flatten()
    } else {
        None
    };
    if voice.is_json() {
        let (asks, last, schedule) = (asks.as_ref(), last.as_ref(), schedule.as_ref());
        write_answer(&json::snapshot(&args.name, &seen, asks, last, schedule))?;
    } else if !voice.is_quiet() {
        write_answer(&tables::snapshot(&args.name, &seen))?;
        if let Some(last) = last {
            write_answer(&history::last_hold(&last))?;
        }
        if let Some(state) = schedule {
            write_answer(&schedule::lines(&state))?;
        }
        if let Some(by) = asks {
            write_answer(&format!("asked to release by {}", plain(&by.to_string())))?;
        }
    }
    Ok(if args.exit_code && !seen.holders.is_empty() { exit::HELD } else { 0 })
}
