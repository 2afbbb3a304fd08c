//! What became of a run, for monitoring: metrics in a file, and a line for a log.

use std::{
    io,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tenure::{LockName, LostReason, Token};

use crate::exposition::{
    file::MetricsFile,
    merge::merged,
    text::{Family, Sample, escaped},
};

const ATTEMPT: Family = Family {
    name: "tenure_run_last_attempt_timestamp_seconds",
    help: "When tenure run was last started, in seconds since 1970.",
};
const ATTEMPT_CODE: Family = Family {
    name: "tenure_run_last_attempt_exit_code",
    help: "The exit code of the last tenure run, also if the lock was busy.",
};
const RUNNING: Family =
    Family { name: "tenure_run_running", help: "1 while the command runs, otherwise 0." };
const START: Family = Family {
    name: "tenure_run_last_start_timestamp_seconds",
    help: "When the command was last started, in seconds since 1970.",
};
const END: Family = Family {
    name: "tenure_run_last_end_timestamp_seconds",
    help: "When the command last ended, in seconds since 1970.",
};
const SUCCESS: Family = Family {
    name: "tenure_run_last_success_timestamp_seconds",
    help: "When the command last ended with 0 under its lock, in seconds since 1970.",
};
const DURATION: Family =
    Family { name: "tenure_run_last_duration_seconds", help: "How long the last command ran." };
const WAIT: Family = Family {
    name: "tenure_run_last_wait_seconds",
    help: "How long the last command waited for its lock.",
};
const CODE: Family = Family {
    name: "tenure_run_last_exit_code",
    help: "The exit code of the last run in which the command was started.",
};
const LOST: Family = Family {
    name: "tenure_run_last_lost",
    help: "1 if the last command lost its lock, otherwise 0.",
};
const TOKEN: Family = Family {
    name: "tenure_run_last_token",
    help: "The fencing token of the last command, rounded to 53 bits.",
};

/// What became of a run so far. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct RunRecord(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    file: Option<MetricsFile>,
    wants_summary: bool,
    locks: Vec<String>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    attempted: SystemTime,
    /// Once the locks are held.
    started: Option<SystemTime>,
    waited: Duration,
    tokens: Vec<(String, Token)>,
    ended: Option<(SystemTime, Duration)>,
    lost: Option<LostReason>,
    /// Whether it ended as lost.
    is_lost: bool,
}

impl RunRecord {
    /// A record of a run under these locks, for a file of metrics, or for a line at its end.
    pub(crate) fn new(
        file: Option<&Path>,
        wants_summary: bool,
        locks: &[&LockName],
    ) -> io::Result<Self> {
        let file = file.map(MetricsFile::new);
        let mut different: Vec<String> = Vec::new();
        for lock in locks {
            if !different.iter().any(|known| known == lock.as_str()) {
                different.push(lock.as_str().to_owned());
            }
        }
        let state = State {
            attempted: SystemTime::now(),
            started: None,
            waited: Duration::ZERO,
            tokens: Vec::new(),
            ended: None,
            lost: None,
            is_lost: false,
        };
        Ok(Self(Arc::new(Shared {
            file: file.transpose()?,
            wants_summary,
            locks: different,
            state: Mutex::new(state),
        })))
    }

    /// Whether a line is wanted at the end.
    pub(crate) fn wants_summary(&self) -> bool {
        self.0.wants_summary
    }

    /// Notes that a lock was acquired. When all are held, the file shows that the command runs.
    ///
    /// # Errors
    /// Why the file cannot be written.
    pub(crate) fn acquired(
        &self,
        name: &str,
        token: Token,
        waited: Duration,
    ) -> Result<(), String> {
        let mut state = self.lock();
        state.tokens.push((name.to_owned(), token));
        state.waited = waited;
        if state.tokens.len() < self.0.locks.len() {
            return Ok(());
        }
        state.started = Some(SystemTime::now());
        self.write(&state, None)
    }

    /// Notes that the command ended after so long.
    pub(crate) fn ended(&self, ran: Duration) {
        self.lock().ended = Some((SystemTime::now(), ran));
    }

    /// Notes why the lock was lost, or was going to be.
    pub(crate) fn lost(&self, reason: LostReason) {
        let mut state = self.lock();
        state.lost = state.lost.or(Some(reason));
    }

    /// Notes that it is over, with this exit code.
    ///
    /// # Errors
    /// Why the file cannot be written.
    pub(crate) fn end(&self, code: u8, is_lost: bool) -> Result<(), String> {
        let mut state = self.lock();
        state.is_lost = is_lost;
        self.write(&state, Some(code))
    }

    /// What the line at the end says.
    pub(crate) fn summary(&self, code: u8) -> RunSummary {
        let state = self.lock();
        RunSummary {
            name: self.0.locks.join(","),
            waited: state.started.map(|_| state.waited),
            ran: state.ended.map(|(_, ran)| ran),
            tokens: state.tokens.iter().map(|(_, token)| *token).collect(),
            lost: state.lost.filter(|_| state.is_lost),
            code,
        }
    }

    fn write(&self, state: &State, code: Option<u8>) -> Result<(), String> {
        let Some(file) = &self.0.file else { return Ok(()) };
        let mut samples = Vec::new();
        for lock in &self.0.locks {
            samples.extend(values(state, lock, code).into_iter().map(|(family, value)| {
                let labels = vec![("lock", lock.clone())];
                (family, Sample { family: family.name, labels, value })
            }));
        }
        let mut families: Vec<Family> = Vec::new();
        for (family, _) in &samples {
            if !families.iter().any(|known| known.name == family.name) {
                families.push(*family);
            }
        }
        let samples: Vec<_> = samples.into_iter().map(|(_, sample)| sample).collect();
        let ours: Vec<_> =
            self.0.locks.iter().map(|lock| format!("lock=\"{}\"", escaped(lock))).collect();
        let is_ours = |labels: &str| ours.iter().any(|ours| ours == labels);
        file.change(|text| merged(text, &families, &samples, is_ours))
            .map_err(|error| format!("{}: {error}", file.path().display()))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The values for one lock, as far as they are known. All others stay as an earlier run left them.
fn values(state: &State, lock: &str, code: Option<u8>) -> Vec<(Family, f64)> {
    let mut values = vec![(ATTEMPT, seconds(state.attempted))];
    values.extend(code.map(|code| (ATTEMPT_CODE, f64::from(code))));
    let Some(started) = state.started else { return values };
    values.push((RUNNING, if code.is_none() { 1.0 } else { 0.0 }));
    values.push((START, seconds(started)));
    values.push((WAIT, state.waited.as_secs_f64()));
    let token = state.tokens.iter().find(|(name, _)| name == lock);
    // No better number is to be had in this format.
    let rounded = |token: &Token| token.to_string().parse().unwrap_or(f64::NAN);
    values.extend(token.map(|(_, token)| (TOKEN, rounded(token))));
    let Some(code) = code else { return values };
    // Where the lock was lost before, the command was not started.
    let Some((ended, ran)) = state.ended else { return values };
    values.push((END, seconds(ended)));
    values.push((DURATION, ran.as_secs_f64()));
    values.push((CODE, f64::from(code)));
    values.push((LOST, if state.is_lost { 1.0 } else { 0.0 }));
    if code == 0 && !state.is_lost {
        values.push((SUCCESS, seconds(ended)));
    }
    values
}

fn seconds(at: SystemTime) -> f64 {
    // Milliseconds are enough, and stay readable.
    let millis = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX)).as_secs_f64()
}

/// A run in one line.
#[derive(Debug)]
pub(crate) struct RunSummary {
    pub(crate) name: String,
    /// If the locks were acquired.
    pub(crate) waited: Option<Duration>,
    /// If the command ran.
    pub(crate) ran: Option<Duration>,
    pub(crate) tokens: Vec<Token>,
    pub(crate) lost: Option<LostReason>,
    pub(crate) code: u8,
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn record(path: &Path, names: &[&str]) -> RunRecord {
        let names: Vec<_> = names.iter().map(|name| LockName::new(name).unwrap()).collect();
        RunRecord::new(Some(path), false, &names.iter().collect::<Vec<_>>()).unwrap()
    }

    fn acquire(record: &RunRecord, name: &str, token: u64) {
        let (token, waited) = (Token::from_raw(token).unwrap(), Duration::from_millis(1_500));
        record.acquired(name, token, waited).unwrap();
    }

    const RAN: Duration = Duration::from_secs(7);

    /// The value of a gauge of this lock.
    fn value(path: &Path, name: &str, lock: &str) -> Option<f64> {
        let text = fs::read_to_string(path).unwrap();
        let begin = format!("tenure_run_{name}{{lock=\"{lock}\"}} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&*begin))?;
        Some(line.parse().unwrap())
    }

    #[test]
    fn a_run_that_ended_well_shows_all_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("jobs.prom");
        let run = record(&path, &["nightly"]);
        acquire(&run, "nightly", 77);
        let shown = |name| value(&path, name, "nightly");
        assert_eq!((shown("running"), shown("last_exit_code")), (Some(1.0), None));
        run.ended(RAN);
        run.end(0, false).unwrap();
        assert_eq!((shown("running"), shown("last_exit_code")), (Some(0.0), Some(0.0)));
        assert_eq!((shown("last_wait_seconds"), shown("last_token")), (Some(1.5), Some(77.0)));
        assert_eq!((shown("last_duration_seconds"), shown("last_lost")), (Some(7.0), Some(0.0)));
        assert_eq!(shown("last_success_timestamp_seconds"), shown("last_end_timestamp_seconds"));
        assert!(shown("last_start_timestamp_seconds") >= shown("last_attempt_timestamp_seconds"));
    }

    #[test]
    fn a_later_run_that_fails_or_finds_the_lock_busy_keeps_the_last_success() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("jobs.prom");
        fs::write(&path, "up 1\ntenure_run_last_exit_code{lock=\"other\"} 3\n").unwrap();
        let good = record(&path, &["nightly"]);
        acquire(&good, "nightly", 77);
        good.ended(RAN);
        good.end(0, false).unwrap();
        let shown = |name| value(&path, name, "nightly");
        let success = shown("last_success_timestamp_seconds");
        record(&path, &["nightly"]).end(124, false).unwrap();
        assert_eq!(
            (shown("last_attempt_exit_code"), shown("last_exit_code")),
            (Some(124.0), Some(0.0))
        );
        let lost = record(&path, &["nightly"]);
        acquire(&lost, "nightly", 78);
        lost.lost(LostReason::Taken);
        lost.ended(RAN);
        lost.end(123, true).unwrap();
        assert_eq!((shown("last_lost"), shown("last_exit_code")), (Some(1.0), Some(123.0)));
        assert_eq!(shown("last_success_timestamp_seconds"), success);
        assert_eq!(value(&path, "last_exit_code", "other"), Some(3.0));
        assert!(fs::read_to_string(&path).unwrap().starts_with("up 1\n"));
    }

    #[test]
    fn several_locks_have_series_each_and_begin_together() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("jobs.prom");
        let run = record(&path, &["a\"b", "c", "c"]);
        acquire(&run, "a\"b", 1);
        assert!(!path.exists());
        acquire(&run, "c", 2);
        run.end(9, false).unwrap();
        assert_eq!(value(&path, "last_token", "a\\\"b"), Some(1.0));
        assert_eq!(value(&path, "last_token", "c"), Some(2.0));
        assert_eq!(value(&path, "last_success_timestamp_seconds", "c"), None);
    }
}
