//! The same job at the same times with other options, and under ShedLock.

use std::{collections::BTreeMap, fmt::Write, thread::scope};

use tenure_servers::PostgresServer;

use crate::{
    drill::Drill,
    journal::Line,
    judge::{judge, seconds},
    shedlock::{self, Hosts, ShedLock},
};

const ON_REDIS: [&str; 4] = [
    "--no-wait",
    "--no-wait --hold-at-least 1s",
    "--no-wait --hold-at-least 500ms",
    "--once-per 1s",
];

/// With the same times as [`AT_LEAST`].
const ON_POSTGRES: [&str; 5] = [
    "--no-wait",
    "--no-wait --hold-at-least 500ms",
    "--no-wait --hold-at-least 900ms",
    "--no-wait --hold-at-least 1s",
    "--once-per 1s",
];

/// ShedLock's `lockAtLeastFor`, in milliseconds.
const AT_LEAST: [u64; 4] = [0, 500, 900, 1000];

/// The hosts of all rows start at the same times.
const SEED: u64 = 1;

/// The slots that are run more than once, and those that are never run. A run counts for the slot that its host meant.
type Counts = (usize, usize);

#[derive(Default)]
struct Rows {
    rows: Vec<(String, Counts)>,
    /// What should not be, of `--once-per`.
    wrong: Vec<String>,
}

pub(crate) fn on_redis(url: &str, slots: u64) -> String {
    tenure(url, &ON_REDIS, slots).table(slots)
}

/// The same on PostgreSQL, beside ShedLock.
pub(crate) fn on_postgres(server: &PostgresServer, slots: u64) -> String {
    let hosts = ShedLock::new(server).start(&AT_LEAST);
    let (theirs, mut all) = scope(|scope| {
        let theirs = scope.spawn(|| shedlock(hosts, slots));
        let ours = tenure(&server.url(), &ON_POSTGRES, slots);
        (theirs.join().unwrap(), ours)
    });
    all.rows.splice(..0, theirs);
    all.table(slots)
}

fn tenure(url: &str, all: &[&'static str], slots: u64) -> Rows {
    let drills = all.iter().enumerate().map(|(number, options)| Drill {
        options,
        seed: SEED,
        ..Drill::new(Some(url), &format!("report{number}"), slots + 1)
    });
    let drills: Vec<_> = drills.collect();
    let done: Vec<_> = scope(|scope| {
        let running: Vec<_> = drills.iter().map(|drill| scope.spawn(|| drill.run())).collect();
        running.into_iter().map(|running| running.join().unwrap()).collect()
    });
    let mut came = Rows::default();
    for (&options, done) in all.iter().zip(&done) {
        let by_meant = counted(done.meant, &done.journal, |line| done.calls[line.call].slot);
        came.rows.push((options.to_owned(), by_meant));
        if options.starts_with("--once-per") {
            // A host that is very late runs the slot that it is by then.
            let by_told = counted(done.meant, &done.journal, |line| seconds(&line.slot));
            came.rows.push((format!("{options}, by TENURE_SLOT"), by_told));
            came.wrong.extend(judge(done).wrong);
        }
    }
    came
}

fn shedlock(hosts: Hosts, slots: u64) -> Vec<(String, Counts)> {
    let done = hosts.run(slots + 1, SEED);
    let titles = AT_LEAST
        .iter()
        .map(|at_least| format!("ShedLock {}, lockAtLeastFor {at_least}ms", shedlock::VERSION));
    let counts =
        done.iter().map(|done| counted(done.meant, &done.journal, |line| done.slot_of(line.call)));
    titles.zip(counts).collect()
}

impl Rows {
    fn table(&self, slots: u64) -> String {
        let mut table = format!("{:38}{:>8}{:>8}{:>8}\n", "options", "slots", "twice", "missed");
        for (options, (twice, missed)) in &self.rows {
            let _ = writeln!(table, "{options:38}{slots:>8}{twice:>8}{missed:>8}");
        }
        assert_eq!(self.wrong, [""; 0], "{table}");
        table
    }
}

fn counted((first, end): (u64, u64), journal: &[Line], slot_of: impl Fn(&Line) -> u64) -> Counts {
    // Without the first one: a host that is early runs the slot before it, which none ran before.
    let mut runs: BTreeMap<_, usize> = (first + 1..end).map(|slot| (slot, 0)).collect();
    for line in journal.iter().filter(|line| !line.is_end) {
        if let Some(runs) = runs.get_mut(&slot_of(line)) {
            *runs += 1;
        }
    }
    let count = |is: fn(usize) -> bool| runs.values().filter(|runs| is(**runs)).count();
    (count(|runs| runs > 1), count(|runs| runs == 0))
}
