//! One call of `tenure run`, and what it reported.

use std::{
    fs,
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant, UNIX_EPOCH},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

use crate::{
    drill::now,
    faults::{FROZEN, Lot, Phase, Strike},
    journal::JOB,
};

const POLL: Duration = Duration::from_millis(4);
const PATIENCE: Duration = Duration::from_secs(60);

/// What a host starts.
pub(crate) struct Order {
    pub(crate) number: usize,
    /// The slot that the host means, in seconds since 1970.
    pub(crate) slot: u64,
    /// By how many seconds the host's clock is off.
    pub(crate) shift: i64,
    /// The words before `tenure`.
    pub(crate) before: Vec<String>,
    /// The words after it.
    pub(crate) words: String,
    pub(crate) ttl: Duration,
    pub(crate) work: Duration,
    pub(crate) lot: Lot,
    pub(crate) dir: PathBuf,
    pub(crate) store: String,
}

/// What became of it. Times are since 1970, by the true clock.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) number: usize,
    pub(crate) slot: u64,
    pub(crate) ttl: Duration,
    pub(crate) started: Duration,
    pub(crate) ended: Duration,
    /// Its job was to exit with 1.
    pub(crate) fails: bool,
    /// When it was killed or frozen.
    pub(crate) struck: Option<Duration>,
    /// The exit code, or 1000 + the signal that ended it.
    pub(crate) code: i32,
    pub(crate) events: Vec<Value>,
    pub(crate) shift: i64,
}

/// A child that does not outlive its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Order {
    /// Starts it, strikes it as was drawn, and waits for its end.
    pub(crate) fn call(self) -> Call {
        let said = self.path("said");
        let started = now();
        let mut running = Running(self.command(&said).spawn().unwrap());
        let mut struck = None;
        let mut strike = self.lot.strike;
        let mut since = None;
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = running.0.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < until, "call {} does not end", self.number);
            if let Some(Strike { signal, phase, after }) = strike {
                if since.is_none() && self.is_in(phase) {
                    since = Some(Instant::now());
                }
                if since.is_some_and(|since| since.elapsed() >= after) {
                    struck = Some(now());
                    strike = None;
                    suffer(&running.0, signal);
                }
            }
            sleep(POLL);
        };
        let ended = now();
        let text = fs::read_to_string(&said).unwrap();
        for file in ["said", "begin", "end"] {
            let _ = fs::remove_file(self.path(file));
        }
        Call {
            number: self.number,
            slot: self.slot,
            ttl: self.ttl,
            started,
            ended,
            fails: self.lot.fails,
            struck,
            code: status.code().unwrap_or_else(|| 1000 + status.signal().unwrap()),
            events: text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
            shift: self.shift,
        }
    }

    fn path(&self, what: &str) -> PathBuf {
        self.dir.join(format!("{}.{what}", self.number))
    }

    fn is_in(&self, phase: Phase) -> bool {
        match phase {
            Phase::Started => true,
            Phase::Begun => self.path("begin").exists(),
            Phase::Done => self.path("end").exists(),
        }
    }

    /// In a session of its own, as cron starts it.
    fn command(&self, said: &PathBuf) -> Command {
        let mut command = Command::new("setsid");
        command.args(&self.before).arg(env!("CARGO_BIN_EXE_tenure"));
        command.args(self.words.split_whitespace()).args(["--", "sh", "-c", JOB]);
        command.current_dir(&self.dir).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(fs::File::create(said).unwrap());
        command.env("TENURE_STORE", &self.store).env("TENURE_CONFIG", "/dev/null");
        command.env("DRILL", &self.dir).env("CALL", self.number.to_string());
        command.env("WORK", self.work.as_secs_f64().to_string());
        command.env("FAILS", if self.lot.fails { "1" } else { "" });
        command
    }
}

fn suffer(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    // It is not collected yet, so that the number is its own.
    kill(pid, signal).unwrap();
    if signal == Signal::SIGSTOP {
        sleep(FROZEN);
        kill(pid, Signal::SIGCONT).unwrap();
    }
}

impl Call {
    fn event(&self, name: &str) -> Option<&Value> {
        self.events.iter().find(|event| event["event"] == name)
    }

    /// The slot that it ran or skipped; `None` if it did not get so far.
    pub(crate) fn reported_slot(&self) -> Option<&str> {
        let event = self.event("slot_begins").or_else(|| self.event("skipped"))?;
        event["slot"].as_str()
    }

    /// Why it skipped its slot, and the token that it named.
    pub(crate) fn skipped(&self) -> Option<(&str, Option<u64>)> {
        let event = self.event("skipped")?;
        let last = event["message"].as_str()?.rsplit(' ').next()?;
        Some((event["reason"].as_str()?, last.parse().ok()))
    }

    /// Whether it reported that its slot is marked.
    pub(crate) fn is_marked(&self) -> bool {
        self.event("slot_finished").is_some()
    }

    /// Whether it was killed or frozen, lost its lock, or had no answer of the store in time.
    pub(crate) fn is_broken(&self) -> bool {
        self.struck.is_some() || self.is_lost() || self.is_unanswered()
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.code == 123
    }

    /// Whether it gave up, as the store did not answer: a machine that does many other things may be as slow.
    pub(crate) fn is_unanswered(&self) -> bool {
        let told =
            |event: &Value| ["in_doubt", "unreachable"].map(Value::from).contains(&event["kind"]);
        self.code == 125 && self.event("error").is_some_and(told)
    }

    /// Until when it may have kept others from the lock.
    pub(crate) fn in_the_way_until(&self) -> Duration {
        let unsure = self.struck.or(self.is_unanswered().then_some(self.ended));
        self.ended.max(unsure.map_or(Duration::ZERO, |since| since + self.ttl))
    }

    /// When it reported its first event, in seconds since 1970, by its clock set right.
    pub(crate) fn came(&self) -> Option<f64> {
        self.time(0)
    }

    /// When it reported what the store had answered: the first event only says which store it asks.
    pub(crate) fn answered(&self) -> Option<f64> {
        self.time(1)
    }

    #[allow(clippy::cast_precision_loss, reason = "it is small")]
    fn time(&self, event: usize) -> Option<f64> {
        let time = humantime::parse_rfc3339(self.events.get(event)?["time"].as_str()?).ok()?;
        Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs_f64() - self.shift as f64)
    }
}
