//! The processes as whoever started them sees them.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    process::{Child, ChildStdin, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tenure::clock::{Clock, SystemClock};

use crate::{
    part::Part,
    tally::Tally,
    told::{Done, Told},
};

/// After its server is back: so long a caller may still be failed by what was under way.
const AFTERMATH: Duration = Duration::from_secs(20);
/// Within so long clients are connected again and have renewed what they hold, once the server is back.
const RETURN: Duration = Duration::from_secs(2);
/// Such leases are for processes that are killed: what they leave behind is free again soon.
const SHORT: Duration = Duration::from_secs(5);
/// How long whoever keeps a lock may take to say that it lost it.
const NEWS: Duration = Duration::from_secs(10);
/// Of each sort so many are kept as they were told.
const EXAMPLES: usize = 20;

pub(crate) fn now() -> u64 {
    SystemClock.now().as_nanos()
}

fn nanos(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap()
}

/// What was heard of all processes of a run.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) tally: Tally,
    /// Of each process, those that were killed among them.
    done: BTreeMap<u32, Done>,
    logged: BTreeMap<u32, BTreeMap<String, u64>>,
    pub(crate) ready: usize,
    pub(crate) over: usize,
    /// From when until when the server was away.
    away: Vec<(u64, u64)>,
    /// When, on what a renewed hold of it could be counted, whether it was kept, and what was told of it.
    losses: Vec<(u64, Duration, bool, String)>,
    pub(crate) failed_while_away: u64,
    /// For lack of an answer in time, as on a machine that is busy with something else.
    pub(crate) failed: u64,
    pub(crate) failures: Vec<String>,
    /// Promises that were broken.
    pub(crate) wrong: Vec<String>,
}

/// Holds that were lost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Losses {
    /// Because the server was away for too long.
    pub(crate) excused: usize,
    /// Of locks that are kept.
    pub(crate) kept: usize,
    /// Of others.
    pub(crate) other: usize,
    /// Of leases so short that a machine that is busy with something else is enough.
    pub(crate) short: usize,
}

impl Heard {
    pub(crate) fn goes_away(&mut self) {
        self.away.push((now(), u64::MAX));
    }

    pub(crate) fn is_back(&mut self) {
        if let Some(last) = self.away.last_mut() {
            last.1 = now();
        }
    }

    /// For how many seconds the server was away at most.
    pub(crate) fn longest_away(&self) -> f64 {
        let lengths = self.away.iter().map(|(from, until)| until.saturating_sub(*from));
        lengths.max().unwrap_or(0) as f64 / 1e9
    }

    /// `counts` is what a renewed hold can be counted on.
    fn hear(&mut self, pid: u32, counts: Duration, told: Told) {
        match told {
            Told::Began { id, name, token, mode, from, kept } => {
                self.tally.began(id, &name, token, mode, from, kept);
            }
            Told::Ended { id, until } => {
                let wrong = self.tally.ended(id, until);
                self.wrong.extend(wrong);
            }
            Told::Lost { name, why } => {
                if self.losses.len() < 100_000 {
                    self.losses.push((now(), counts, name.starts_with("kept-"), why));
                }
            }
            Told::Failed { why } => self.fails(why),
            Told::Done(done) => {
                self.done.insert(pid, done);
            }
            Told::Logged { count, message } => {
                self.logged.entry(pid).or_default().insert(message, count);
            }
            Told::Ready => self.ready += 1,
            Told::Over => self.over += 1,
        }
    }

    fn fails(&mut self, why: String) {
        let (now, late) = (now(), nanos(AFTERMATH));
        let mut away = self.away.iter();
        let is_away = away.any(|(from, until)| *from <= now && now <= until.saturating_add(late));
        let may = ["unreachable", "in doubt", "release"].iter().any(|kind| why.starts_with(kind));
        if is_away && may {
            self.failed_while_away += 1;
            return;
        }
        if !may {
            self.wrong.push(why);
            return;
        }
        self.failed += 1;
        if self.failures.len() < EXAMPLES {
            self.failures.push(why);
        }
    }

    /// What met a lock that is kept.
    pub(crate) fn look(&mut self) {
        let wrong = self.tally.suspects(now(), nanos(NEWS));
        self.wrong.extend(wrong);
    }

    /// A hold is renewed at each third of what can be counted on, so two thirds are left when its server goes.
    fn is_excused(&self, at: u64, counts: Duration) -> bool {
        self.away.iter().any(|(from, until)| {
            let length = (*until).min(at).saturating_sub(*from).saturating_add(nanos(RETURN));
            *from <= at
                && length >= nanos(counts * 2 / 3)
                && at <= until.saturating_add(nanos(counts))
        })
    }

    pub(crate) fn losses(&self) -> Losses {
        let mut losses = Losses::default();
        for (at, counts, kept, _) in &self.losses {
            let sort = match (self.is_excused(*at, *counts), kept) {
                (true, _) => &mut losses.excused,
                (false, _) if *counts <= SHORT => &mut losses.short,
                (false, true) => &mut losses.kept,
                (false, false) => &mut losses.other,
            };
            *sort += 1;
        }
        losses
    }

    /// Some of those without an excuse.
    pub(crate) fn examples_of_losses(&self) -> Vec<String> {
        let bad = self.losses.iter();
        let bad = bad.filter(|(at, counts, ..)| *counts > SHORT && !self.is_excused(*at, *counts));
        bad.take(EXAMPLES).map(|(_, _, _, why)| why.clone()).collect()
    }

    pub(crate) fn done(&self) -> Done {
        self.done.values().fold(Done::default(), |all, one| Done {
            grants: all.grants + one.grants,
            timed_out: all.timed_out + one.timed_out,
            dropped: all.dropped + one.dropped,
            lost: all.lost + one.lost,
            failed: all.failed + one.failed,
        })
    }

    /// How often each message was logged.
    pub(crate) fn logged(&self) -> BTreeMap<String, u64> {
        let mut all = BTreeMap::new();
        for (message, count) in self.logged.values().flatten() {
            *all.entry(message.clone()).or_default() += count;
        }
        all
    }
}

/// One of them. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Player {
    pub(crate) name: String,
    process: Child,
    input: Option<ChildStdin>,
    ear: Option<JoinHandle<()>>,
}

impl Player {
    pub(crate) fn start(
        name: &str,
        part: &Part,
        counts: Duration,
        heard: &Arc<Mutex<Heard>>,
    ) -> Self {
        let mut command = part.command();
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (pid, heard) = (process.id(), heard.clone());
        let ear = thread::spawn(move || {
            for line in output.lines() {
                let Ok(line) = line else { break };
                // The last line of one that is killed may be a part of one.
                if let Some(told) = Told::read(&line) {
                    locked(&heard).hear(pid, counts, told);
                }
            }
        });
        let input = process.stdin.take();
        Self { name: name.to_owned(), process, input, ear: Some(ear) }
    }

    /// Kills it as `kill -9` does.
    pub(crate) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        if let Some(ear) = self.ear.take() {
            let _ = ear.join();
        }
    }

    /// Has it let go of everything.
    pub(crate) fn is_to_end(&mut self) {
        self.input = None;
    }

    /// Whether it ended, and well, by then.
    pub(crate) fn ends_well(&mut self, by: Instant) -> bool {
        while Instant::now() < by {
            if let Ok(Some(status)) = self.process.try_wait() {
                return status.success();
            }
            thread::sleep(Duration::from_millis(20));
        }
        false
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.process.try_wait(), Ok(None))
    }

    /// Its resident memory in MiB.
    pub(crate) fn memory(&self) -> Option<f64> {
        let file = format!("/proc/{}/statm", self.process.id());
        let pages: f64 = fs::read_to_string(file).ok()?.split(' ').nth(1)?.parse().ok()?;
        Some(pages * 4_096.0 / f64::from(1 << 20))
    }

    pub(crate) fn threads(&self) -> Option<f64> {
        self.entries("task")
    }

    pub(crate) fn descriptors(&self) -> Option<f64> {
        self.entries("fd")
    }

    fn entries(&self, folder: &str) -> Option<f64> {
        let folder = format!("/proc/{}/{folder}", self.process.id());
        Some(fs::read_dir(folder).ok()?.count() as f64)
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(crate) fn locked(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}
