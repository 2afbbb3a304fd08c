//! The gauges of a run, and which of two runs they show.
//!
//! Several commands may run at once under one name. The file shows the one that started last, all of it and nothing of
//! the others. An attempt that began last, and the last success, are facts by themselves.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tenure::Token;

use super::{
    State,
    slots::{BEGAN, FINISHED},
};
use crate::exposition::text::{Family, Sample, escaped, series, value};

const ATTEMPT: Family = Family::new(
    "tenure_run_last_attempt_timestamp_seconds",
    "When tenure run was last started, in seconds since 1970.",
);
const ATTEMPT_CODE: Family = Family::new(
    "tenure_run_last_attempt_exit_code",
    "The exit code of the last tenure run, also if the lock was busy.",
);
const RUNNING: Family = Family::new("tenure_run_running", "1 while the command runs, otherwise 0.");
const START: Family = Family::new(
    "tenure_run_last_start_timestamp_seconds",
    "When the command was last started, in seconds since 1970.",
);
const END: Family = Family::new(
    "tenure_run_last_end_timestamp_seconds",
    "When the command last ended, in seconds since 1970.",
);
const SUCCESS: Family = Family::new(
    "tenure_run_last_success_timestamp_seconds",
    "When the command last ended with 0 under its lock, in seconds since 1970.",
);
const DURATION: Family =
    Family::new("tenure_run_last_duration_seconds", "How long the last command ran.");
const WAIT: Family =
    Family::new("tenure_run_last_wait_seconds", "How long the last command waited for its lock.");
const CODE: Family = Family::new(
    "tenure_run_last_exit_code",
    "The exit code of the last run in which the command was started.",
);
const LOST: Family =
    Family::new("tenure_run_last_lost", "1 if the last command lost its lock, otherwise 0.");
const TOKEN: Family = Family::new(
    "tenure_run_last_token",
    "The fencing token of the last command, rounded to 53 bits.",
);

/// What the file shows of one lock by now, of the gauges that say which run is the last.
#[derive(Debug, Default)]
pub(super) struct Shown {
    attempt: Option<f64>,
    start: Option<f64>,
    success: Option<f64>,
    slot: Option<f64>,
    finished: Option<f64>,
}

impl Shown {
    pub(super) fn of(text: &str, lock: &str) -> Self {
        let (mut shown, ours) = (Self::default(), format!("lock=\"{}\"", escaped(lock)));
        for line in text.lines() {
            let Some((name, _)) = series(line).filter(|(_, labels)| *labels == ours) else {
                continue;
            };
            for (family, known) in [
                (ATTEMPT, &mut shown.attempt),
                (START, &mut shown.start),
                (SUCCESS, &mut shown.success),
                (BEGAN, &mut shown.slot),
                (FINISHED, &mut shown.finished),
            ] {
                if family.name == name {
                    *known = value(line);
                }
            }
        }
        shown
    }
}

/// The values for one lock, as far as they are known. All others stay as an earlier run left them.
pub(super) fn values(state: &State, lock: &str, code: Option<u8>, shown: &Shown) -> Vec<Sample> {
    let gauge = |(family, value)| Sample { family, labels: vec![("lock", lock.to_owned())], value };
    let now = seconds(SystemTime::now());
    // A time that is yet to come is of a clock that was wrong, and must not keep all later runs from the file.
    let is_later = |shown: Option<f64>, at: f64| shown.is_some_and(|it| it > at && it <= now);
    let mut samples = Vec::new();
    let attempted = seconds(state.attempted);
    if !is_later(shown.attempt, attempted) {
        samples.push(gauge((ATTEMPT, attempted)));
        samples.extend(code.map(|code| gauge((ATTEMPT_CODE, f64::from(code)))));
    }
    if let Some(news) = &state.slot {
        // Another start may have come while this one ran: the later slot counts, and of two that are the same the later
        // word.
        let is_last = news.start().map_or_else(
            || !is_later(shown.attempt, attempted),
            |start| !is_later(shown.slot, start),
        );
        if is_last {
            samples.extend(news.of_last_slot(lock));
        }
        let finished = news.of_finished_slot(lock);
        samples.extend(finished.filter(|sample| !is_later(shown.finished, sample.value)));
    }
    samples.extend(values_of_command(state, lock, code, shown, is_later).into_iter().map(gauge));
    samples
}

/// Those of the command that was started, if one was.
fn values_of_command(
    state: &State,
    lock: &str,
    code: Option<u8>,
    shown: &Shown,
    is_later: impl Fn(Option<f64>, f64) -> bool,
) -> Vec<(Family, f64)> {
    let mut values = Vec::new();
    let Some(started) = state.started.map(seconds) else { return values };
    let ended = state.ended.filter(|_| code.is_some());
    let succeeded = ended.filter(|ended| ended.code == 0 && !state.is_lost);
    let success = succeeded.map(|ended| (SUCCESS, seconds(ended.at)));
    values.extend(success.filter(|(_, at)| !is_later(shown.success, *at)));
    if is_later(shown.start, started) {
        return values;
    }
    values.push((RUNNING, if code.is_none() { 1.0 } else { 0.0 }));
    values.push((START, started));
    values.push((WAIT, state.waited.as_secs_f64()));
    let token = state.tokens.iter().find(|(name, _)| name == lock);
    // No better number is to be had in this format.
    let rounded = |token: &Token| token.to_string().parse().unwrap_or(f64::NAN);
    values.extend(token.map(|(_, token)| (TOKEN, rounded(token))));
    if let Some((ended, code)) = ended.zip(code) {
        values.push((END, seconds(ended.at)));
        values.push((DURATION, ended.ran.as_secs_f64()));
        values.push((CODE, f64::from(code)));
        values.push((LOST, if state.is_lost { 1.0 } else { 0.0 }));
    }
    values
}

fn seconds(at: SystemTime) -> f64 {
    // Milliseconds are enough, and stay readable.
    let millis = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX)).as_secs_f64()
}
