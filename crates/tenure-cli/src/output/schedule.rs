//! What is recorded of a lock's slots, for people and for programs.

use serde_json::{Value, json};
use tenure::once::{Finished, ScheduleState, Started};
use tenure_core::plain::plain;

/// What `show` says of a schedule, in a line for each part of it.
pub(crate) fn lines(state: &ScheduleState) -> String {
    let mut lines = vec![format!("runs once per slot ({})", state.schedule)];
    if let Some(Finished { slot, token, .. }) = &state.finished {
        lines
            .push(format!("the slot {} is finished, by the run with token {token}", slot.in_utc()));
    }
    let running = state.running.as_ref();
    if let Some(open) = &state.unfinished {
        let runs = if open.tries == 1 { "1 run" } else { &format!("{} runs", open.tries) };
        let now = match running {
            Some(Started { token, .. }) if *token == open.token => {
                format!("the one with token {token} is under way")
            }
            _ => "none is known to be under way".to_owned(),
        };
        lines.push(format!(
            "the slot {} is not finished: {runs} of it began, {now}",
            open.slot.in_utc()
        ));
    }
    if let Some(Started { slot, token, .. }) = running.filter(|run| !is_of(state, run)) {
        lines
            .push(format!("the run with token {token} of the slot {} is under way", slot.in_utc()));
    }
    lines.iter().map(|line| plain(line)).collect::<Vec<_>>().join("\n")
}

/// Whether this run is the one of the slot that is not finished.
fn is_of(state: &ScheduleState, run: &Started) -> bool {
    state.unfinished.as_ref().is_some_and(|open| open.token == run.token)
}

pub(super) fn json(state: &ScheduleState) -> Value {
    let finished = state.finished.as_ref().map(
        |Finished { slot, token, .. }| json!({ "slot": slot.in_utc(), "token": token.to_string() }),
    );
    json!({
        "text": state.schedule, "finished": finished,
        "unfinished": state.unfinished.as_ref().map(started),
        "running": state.running.as_ref().map(started),
    })
}

fn started(Started { slot, token, tries, .. }: &Started) -> Value {
    json!({ "slot": slot.in_utc(), "tries": tries, "token": token.to_string() })
}
