//! Many seeds, on two threads.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tenure_core::proto::rule::{Rule, break_rule};

use super::{RunReport, progress::Progress, simulate};
use crate::check::Counts;
use tenure_testkit::fault::{Kind, Tally};

const THREADS: u64 = 2;

/// What many runs came to.
#[derive(Debug, Default)]
pub struct SweepReport {
    /// The failing run with the smallest seed, if any failed.
    pub failure: Option<RunReport>,
    /// How many seeds were run.
    pub seeds: u64,
    /// How much happened in all of them.
    pub counts: Counts,
    /// How often each fault happened.
    pub tally: Arc<Tally>,
}

impl SweepReport {
    /// Kinds of fault that never happened.
    #[must_use]
    pub fn missing(&self) -> Vec<Kind> {
        Kind::ALL.iter().copied().filter(|kind| self.tally.of(*kind) == 0).collect()
    }

    /// The command that shows a failing run again, with all that happened.
    #[must_use]
    pub fn replay_command(seed: u64) -> String {
        format!("TENURE_SIM_SEED={seed} cargo test -p tenure-sim of_one_seed -- --nocapture")
    }
}

/// Runs all seeds of a range, until one fails.
#[must_use]
pub fn sweep(seeds: Range<u64>) -> SweepReport {
    sweep_with(seeds, None)
}

/// The same with a rule broken, which some seed should notice.
#[must_use]
pub fn sweep_with(seeds: Range<u64>, broken: Option<Rule>) -> SweepReport {
    sweep_of(simulate, seeds, broken)
}

/// The same for another simulation than that of one store.
#[must_use]
pub fn sweep_of(
    simulate: impl Fn(u64, &Arc<Tally>) -> RunReport + Sync,
    seeds: Range<u64>,
    broken: Option<Rule>,
) -> SweepReport {
    let tally = Arc::new(Tally::default());
    let progress = Progress::new(seeds.clone());
    // No seed above one that failed needs to be run.
    let stop = AtomicU64::new(seeds.end);
    let part = || -> SweepReport {
        // Rules are broken on one thread at a time.
        let _broken = broken.map(break_rule);
        let mut part = SweepReport::default();
        while let Some(seed) = progress.next(stop.load(Ordering::Relaxed)) {
            let run = simulate(seed, &tally);
            progress.done(seed);
            part.seeds += 1;
            part.counts += run.counts;
            if run.violation.is_some() {
                stop.fetch_min(seed, Ordering::Relaxed);
                part.failure.get_or_insert(run);
            }
        }
        part
    };
    let parts: Vec<SweepReport> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(part)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let mut all = SweepReport { tally, ..SweepReport::default() };
    for part in parts {
        all.seeds += part.seeds;
        all.counts += part.counts;
        let earlier =
            |run: &RunReport| all.failure.as_ref().is_none_or(|known| run.seed < known.seed);
        if part.failure.as_ref().is_some_and(earlier) {
            all.failure = part.failure;
        }
    }
    all
}

/// The seeds to run: as many as `TENURE_SIM_SEEDS` says, or 10,000, from `TENURE_SIM_FIRST` on, or 0.
#[must_use]
pub fn seeds_wanted() -> Range<u64> {
    let number = |name| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let first: u64 = number("TENURE_SIM_FIRST").unwrap_or(0);
    first..first.saturating_add(number("TENURE_SIM_SEEDS").unwrap_or(10_000))
}
