//! The same job at the same times with other options.

use std::{collections::BTreeMap, fmt::Write, thread::scope};

use crate::drill::{Done, Drill};

const OPTIONS: [&str; 4] = [
    "--no-wait",
    "--no-wait --hold-at-least 1s",
    "--no-wait --hold-at-least 500ms",
    "--once-per 1s",
];

/// How many slots each of the options runs more than once, and how many never. A run counts for the slot that its host
/// meant.
pub(crate) fn table(url: &str, slots: u64) -> String {
    let mut table = format!("{:34}{:>8}{:>8}{:>8}\n", "options", "slots", "twice", "missed");
    let drills = OPTIONS.iter().enumerate().map(|(number, options)| Drill {
        options,
        seed: 1,
        ..Drill::new(Some(url), &format!("report{number}"), slots + 1)
    });
    let drills: Vec<_> = drills.collect();
    let done: Vec<_> = scope(|scope| {
        let running: Vec<_> = drills.iter().map(|drill| scope.spawn(|| drill.run())).collect();
        running.into_iter().map(|running| running.join().unwrap()).collect()
    });
    for (options, done) in OPTIONS.iter().zip(&done) {
        let (twice, missed) = counted(done);
        let _ = writeln!(table, "{options:34}{slots:>8}{twice:>8}{missed:>8}");
        if options.starts_with("--once-per") {
            assert_eq!((twice, missed), (0, 0), "{table}");
        }
    }
    table
}

fn counted(done: &Done) -> (usize, usize) {
    let (first, end) = done.meant;
    // Without the first one: a host that is early runs the slot before it, which none ran before.
    let mut runs: BTreeMap<_, usize> = (first + 1..end).map(|slot| (slot, 0)).collect();
    for line in done.journal.iter().filter(|line| !line.is_end) {
        if let Some(runs) = runs.get_mut(&done.calls[line.call].slot) {
            *runs += 1;
        }
    }
    let count = |is: fn(usize) -> bool| runs.values().filter(|runs| is(**runs)).count();
    (count(|runs| runs > 1), count(|runs| runs == 0))
}
