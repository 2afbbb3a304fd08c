//! Hosts that start the same job again and again, as cron does.

use std::{
    fs,
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{scope, sleep},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use tempfile::TempDir;
use tenure_testkit::Random;

use crate::{
    call::{Call, Order},
    clocks::shifted,
    faults::Faults,
    journal::{self, Line},
};

pub(crate) const HOSTS: u64 = 10;
/// How much earlier or later than the slot a host starts its job at most.
const OFFSET: Duration = Duration::from_millis(300);
const PATIENCE: Duration = Duration::from_secs(60);

/// What is done.
pub(crate) struct Drill {
    pub(crate) dir: TempDir,
    pub(crate) url: String,
    pub(crate) name: String,
    pub(crate) slots: u64,
    /// What is run of it: `--once-per 1s`.
    pub(crate) options: &'static str,
    pub(crate) faults: Faults,
    /// By how many seconds the hosts' clocks are off, every other one's in the other direction.
    pub(crate) shift: Option<i64>,
    pub(crate) seed: u64,
}

/// A start of the job by a host.
pub(crate) struct Start {
    /// The slot that the host means, in seconds since 1970.
    pub(crate) slot: u64,
    pub(crate) due: Duration,
    pub(crate) work: Duration,
}

impl Start {
    pub(crate) fn draw(slot: u64, random: &mut Random) -> Self {
        let due = Duration::from_secs(slot) - OFFSET;
        let due = due + random.length(Duration::ZERO, OFFSET * 2);
        let work = random.length(Duration::from_millis(20), Duration::from_millis(200));
        Self { slot, due, work }
    }
}

/// What came of it.
pub(crate) struct Done {
    pub(crate) calls: Vec<Call>,
    pub(crate) journal: Vec<Line>,
    /// The slots that the hosts meant, in seconds since 1970: the first one, and the first one after them.
    pub(crate) meant: (u64, u64),
}

impl Drill {
    /// So many slots of a second, in the store at `url`, or in a directory.
    pub(crate) fn new(url: Option<&str>, name: &str, slots: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let embedded = || format!("file:{}", dir.path().join("locks").display());
        let url = url.map_or_else(embedded, str::to_owned);
        let seed = now().as_secs();
        let seed = std::env::var("TENURE_SLOTS_SEED").map_or(seed, |seed| seed.parse().unwrap());
        let (name, options) = (name.to_owned(), "--once-per 1s");
        Self { dir, url, name, slots, options, faults: Faults::None, shift: None, seed }
    }

    pub(crate) fn run(&self) -> Done {
        let first = now().as_secs() + 2;
        let meant = (first, first + self.slots);
        let mut random = Random::new(self.seed);
        let number = AtomicUsize::new(0);
        let mut calls = scope(|scope| {
            let hosts: Vec<_> = (0..HOSTS)
                .map(|host| {
                    let random = random.split();
                    let number = &number;
                    scope.spawn(move || self.host(host, random, meant, number))
                })
                .collect();
            hosts.into_iter().flat_map(|host| host.join().unwrap()).collect::<Vec<_>>()
        });
        self.until_nothing_is_left();
        calls.sort_by_key(|call| call.number);
        Done { calls, journal: journal::read(self.dir.path()), meant }
    }

    /// Starts the job for each slot, whether or not an earlier start still runs.
    fn host(
        &self,
        host: u64,
        mut random: Random,
        meant: (u64, u64),
        number: &AtomicUsize,
    ) -> Vec<Call> {
        let shift =
            self.shift.map_or(0, |shift| if host.is_multiple_of(2) { shift } else { -shift });
        let calls = Mutex::new(Vec::new());
        scope(|scope| {
            for slot in meant.0..meant.1 {
                let start = Start::draw(slot, &mut random);
                sleep(start.due.saturating_sub(now()));
                let number = number.fetch_add(1, Ordering::Relaxed);
                let order = self.order(&start, shift, number, &mut random);
                // Without a handle to join: that would keep its stack until the end, and the system has no memory maps
                // for so many.
                scope.spawn(|| {
                    let call = order.call();
                    calls.lock().unwrap().push(call);
                });
            }
        });
        calls.into_inner().unwrap()
    }

    fn order(&self, start: &Start, shift: i64, number: usize, random: &mut Random) -> Order {
        let &Start { slot, work, .. } = start;
        let before = if shift == 0 { Vec::new() } else { shifted(shift) };
        let ttl = self.faults.ttl(random);
        let words = format!("run {} {} --ttl {}s --json", self.name, self.options, ttl.as_secs());
        let lot = self.faults.draw(random);
        let (dir, store) = (PathBuf::from(self.dir.path()), self.url.clone());
        Order { number, slot, shift, before, words, ttl, work, lot, dir, store }
    }

    /// The guardian of a call that was killed ends its job.
    fn until_nothing_is_left(&self) {
        let mark = format!("DRILL={}\0", self.dir.path().display());
        let until = Instant::now() + PATIENCE;
        loop {
            let left = processes_with(mark.as_bytes());
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < until, "left behind: {left:?}");
            sleep(Duration::from_millis(20));
        }
    }
}

/// The processes with this in their environment.
fn processes_with(mark: &[u8]) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let has = |path: &PathBuf| {
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        environment.windows(mark.len()).any(|part| part == mark)
    };
    processes.filter(has).map(|path| path.display().to_string()).collect()
}

/// The time since 1970.
pub(crate) fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}
