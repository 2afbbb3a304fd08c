//! What became of a run, for monitoring: metrics in a file, and a line for a log.

mod slots;
mod values;

use std::{
    io,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, SystemTime},
};

use tenure::{LockName, LostReason, Token};

pub(crate) use self::slots::SlotNews;
use self::values::{Shown, values};
use crate::exposition::{
    file::{MetricsFile, patience},
    merge::merged,
    text::Family,
};

/// How often the start is tried to be written while another process writes to the file, at first and later.
const PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// What became of a run so far. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct RunRecord(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    file: Option<MetricsFile>,
    wants_summary: bool,
    locks: Vec<String>,
    state: Mutex<State>,
    /// Writes that the command runs.
    writer: Mutex<Option<JoinHandle<()>>>,
    /// Whether the end is written next, which says all that the start says.
    is_over: AtomicBool,
}

#[derive(Clone, Debug)]
struct State {
    attempted: SystemTime,
    /// Since when the command runs.
    started: Option<SystemTime>,
    waited: Duration,
    tokens: Vec<(String, Token)>,
    ended: Option<Ended>,
    lost: Option<LostReason>,
    /// If it is a run of a slot, or the slot was skipped.
    slot: Option<SlotNews>,
    /// Whether it ended as lost.
    is_lost: bool,
}

/// The end of the command.
#[derive(Clone, Copy, Debug)]
struct Ended {
    at: SystemTime,
    ran: Duration,
    /// Its own exit code.
    code: u8,
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
            slot: None,
            is_lost: false,
        };
        Ok(Self(Arc::new(Shared {
            file: file.transpose()?,
            wants_summary,
            locks: different,
            state: Mutex::new(state),
            writer: Mutex::new(None),
            is_over: AtomicBool::new(false),
        })))
    }

    /// Whether a line is wanted at the end.
    pub(crate) fn wants_summary(&self) -> bool {
        self.0.wants_summary
    }

    /// Notes that a lock was acquired.
    pub(crate) fn acquired(&self, name: &str, token: Token, waited: Duration) {
        let mut state = self.lock();
        state.tokens.push((name.to_owned(), token));
        state.waited = waited;
    }

    /// Notes that the command was started. The file shows it soon: the command waits neither for the disk nor for others
    /// that write to the file. `tell` learns why it cannot be written.
    pub(crate) fn started(&self, tell: impl FnOnce(Result<(), String>) + Send + 'static) {
        self.lock().started = Some(SystemTime::now());
        if self.0.file.is_none() {
            return;
        }
        let record = self.clone();
        let write = move || {
            let is_over = || record.0.is_over.load(Ordering::Relaxed);
            let mut pause = PAUSE;
            let waits = || {
                thread::park_timeout(pause);
                pause = LONGEST_PAUSE.min(pause * 2);
                !is_over()
            };
            let written = record.write(None, waits);
            if !is_over() {
                tell(written);
            }
        };
        // If the system has no thread to spare, the file shows the run when it is over.
        *self.writer() = thread::Builder::new().name("tenure-metrics".to_owned()).spawn(write).ok();
    }

    /// Notes that the command ended after so long, with this exit code.
    pub(crate) fn ended(&self, ran: Duration, code: u8) {
        let (mut state, at) = (self.lock(), SystemTime::now());
        // It may have been too quick to be seen running.
        state.started = state.started.or_else(|| at.checked_sub(ran));
        state.ended = Some(Ended { at, ran, code });
    }

    /// Notes why the lock was lost, or was going to be.
    pub(crate) fn lost(&self, reason: LostReason) {
        let mut state = self.lock();
        state.lost = state.lost.or(Some(reason));
    }

    /// Notes what became of its slot by now.
    pub(crate) fn slot(&self, news: SlotNews) {
        self.lock().slot = Some(news);
    }

    /// Notes that it is over, with this exit code.
    ///
    /// # Errors
    /// Why the file cannot be written.
    pub(crate) fn end(&self, code: u8, is_lost: bool) -> Result<(), String> {
        self.0.is_over.store(true, Ordering::Relaxed);
        let writer = self.writer().take();
        if let Some(writer) = writer {
            writer.thread().unpark();
            // If it panicked, the panic is in the error output already.
            let _ = writer.join();
        }
        self.lock().is_lost = is_lost;
        self.write(Some(code), patience())
    }

    /// What the line at the end says.
    pub(crate) fn summary(&self, code: u8) -> RunSummary {
        let state = self.lock();
        RunSummary {
            name: self.0.locks.join(","),
            waited: (state.tokens.len() >= self.0.locks.len()).then_some(state.waited),
            ran: state.ended.map(|ended| ended.ran),
            tokens: state.tokens.iter().map(|(_, token)| *token).collect(),
            lost: state.lost.filter(|_| state.is_lost),
            slot: state.slot.clone(),
            code,
        }
    }

    /// Writes what is known, after others that write to the file for as long as this one `waits` for them.
    fn write(&self, code: Option<u8>, waits: impl FnMut() -> bool) -> Result<(), String> {
        let Some(file) = &self.0.file else { return Ok(()) };
        let state = self.lock().clone();
        let change = |text: &str| {
            let (mut families, mut samples) = (Vec::<Family>::new(), Vec::new());
            for lock in &self.0.locks {
                for sample in values(&state, lock, code, &Shown::of(text, lock)) {
                    if !families.contains(&sample.family) {
                        families.push(sample.family);
                    }
                    samples.push(sample);
                }
            }
            merged(text, &families, &samples, |_| false)
        };
        let written = file.change_while(waits, change);
        written.map_err(|error| format!("{}: {error}", file.path().display()))
    }

    fn writer(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.0.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
    pub(crate) slot: Option<SlotNews>,
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
        record.acquired(name, token, waited);
    }

    /// The command is started, and the file shows it.
    fn start(record: &RunRecord) {
        let (told, written) = std::sync::mpsc::channel();
        record.started(move |written| told.send(written).unwrap());
        written.recv().unwrap().unwrap();
    }

    /// A run that has its lock, and that began so many seconds ago.
    fn started(path: &Path, token: u64, ago: u64) -> RunRecord {
        let run = record(path, &["nightly"]);
        acquire(&run, "nightly", token);
        let since = SystemTime::now() - Duration::from_secs(ago);
        run.lock().attempted = since;
        run.lock().started = Some(since);
        run.write(None, || false).unwrap();
        run
    }

    /// All that the file shows but the last success.
    fn without_success(path: &Path) -> String {
        let text = fs::read_to_string(path).unwrap();
        let others = text.lines().filter(|line| !line.contains("last_success"));
        others.map(|line| format!("{line}\n")).collect()
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
        start(&run);
        assert_eq!((shown("running"), shown("last_exit_code")), (Some(1.0), None));
        run.ended(RAN, 0);
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
        good.ended(RAN, 0);
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
        start(&lost);
        lost.ended(RAN, 123);
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
        acquire(&run, "c", 2);
        assert!(!path.exists(), "it does not run yet");
        start(&run);
        run.end(9, false).unwrap();
        assert_eq!(value(&path, "last_token", "a\\\"b"), Some(1.0));
        assert_eq!(value(&path, "last_token", "c"), Some(2.0));
        assert_eq!(value(&path, "last_success_timestamp_seconds", "c"), None);
    }

    #[test]
    fn a_lock_that_is_lost_before_the_command_starts_is_no_run() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("jobs.prom");
        let run = record(&path, &["nightly"]);
        acquire(&run, "nightly", 77);
        run.end(123, true).unwrap();
        let shown = |name| value(&path, name, "nightly");
        assert_eq!(shown("last_attempt_exit_code"), Some(123.0));
        assert_eq!((shown("running"), shown("last_start_timestamp_seconds")), (None, None));
        assert!(run.summary(123).waited.is_some(), "the lock was acquired");
    }

    #[test]
    fn of_commands_at_once_the_file_shows_all_of_the_one_that_started_last() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("jobs.prom");
        let (first, second) = (started(&path, 1, 20), started(&path, 2, 10));
        let shown = |name| value(&path, name, "nightly");
        let before = without_success(&path);
        first.ended(RAN, 0);
        first.end(0, false).unwrap();
        assert_eq!(without_success(&path), before, "the first one ended");
        assert!(shown("last_success_timestamp_seconds").is_some());
        let (third, success) = (started(&path, 3, 15), shown("last_success_timestamp_seconds"));
        assert_eq!(without_success(&path), before, "one that started before the second");
        second.ended(RAN, 4);
        second.end(4, false).unwrap();
        let after = without_success(&path);
        assert_eq!((shown("last_token"), shown("last_exit_code")), (Some(2.0), Some(4.0)));
        assert_eq!((shown("running"), shown("last_attempt_exit_code")), (Some(0.0), Some(4.0)));
        third.lost(LostReason::Taken);
        third.ended(RAN, 123);
        third.end(123, true).unwrap();
        assert_eq!(without_success(&path), after, "the third one ended");
        assert_eq!(shown("last_success_timestamp_seconds"), success);
    }

    /// It finds the lock busy while the command of another run goes on.
    #[test]
    fn a_run_that_ends_does_not_hide_a_later_attempt() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("jobs.prom");
        let run = started(&path, 1, 20);
        record(&path, &["nightly"]).end(124, false).unwrap();
        let shown = |name| value(&path, name, "nightly");
        let attempt = shown("last_attempt_timestamp_seconds");
        run.ended(RAN, 3);
        run.end(3, false).unwrap();
        assert_eq!(shown("last_attempt_exit_code"), Some(124.0));
        assert_eq!(shown("last_attempt_timestamp_seconds"), attempt);
        assert_eq!((shown("running"), shown("last_exit_code")), (Some(0.0), Some(3.0)));
    }

    #[test]
    fn a_time_that_is_yet_to_come_keeps_no_run_from_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("jobs.prom");
        for name in ["attempt", "start", "success"] {
            let line =
                format!("tenure_run_last_{name}_timestamp_seconds{{lock=\"nightly\"}} 9e9\n");
            let before = fs::read_to_string(&path).unwrap_or_default();
            fs::write(&path, format!("{before}{line}")).unwrap();
        }
        let run = started(&path, 1, 20);
        run.ended(RAN, 0);
        run.end(0, false).unwrap();
        for name in ["attempt", "start", "success"] {
            let at = value(&path, &format!("last_{name}_timestamp_seconds"), "nightly");
            assert!(at < Some(9e9), "{name}: {at:?}");
        }
    }

    #[test]
    fn a_command_that_ended_well_is_a_success_also_if_tenure_dies_of_a_key_then() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("jobs.prom");
        let run = started(&path, 1, 20);
        run.ended(RAN, 0);
        run.end(130, false).unwrap();
        let shown = |name| value(&path, name, "nightly");
        assert_eq!(
            (shown("last_attempt_exit_code"), shown("last_exit_code")),
            (Some(130.0), Some(130.0))
        );
        assert_eq!(shown("last_success_timestamp_seconds"), shown("last_end_timestamp_seconds"));
    }

    /// Another process keeps the file until the command is over, or nearly.
    #[test]
    fn a_start_that_cannot_be_written_is_tried_until_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("jobs.prom");
        let lock = fs::File::create(dir.path().join(".jobs.prom.lock")).unwrap();
        lock.lock().unwrap();
        let run = record(&path, &["nightly"]);
        acquire(&run, "nightly", 1);
        let (told, written) = std::sync::mpsc::channel();
        run.started(move |written| told.send(written).unwrap());
        // Nothing here waited for that.
        assert!(written.try_recv().is_err() && !path.exists());
        lock.unlock().unwrap();
        written.recv().unwrap().unwrap();
        assert_eq!(value(&path, "running", "nightly"), Some(1.0));
        run.ended(RAN, 0);
        run.end(0, false).unwrap();
    }
}
