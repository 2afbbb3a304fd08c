//! How far a sweep has come, for whoever waits for it.

use std::{
    collections::BTreeSet,
    fmt,
    ops::Range,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// How often it is said. A sweep that is over before says nothing.
const EVERY: Duration = Duration::from_secs(10);

/// The seeds of a sweep that are done and under way.
#[derive(Debug)]
pub(super) struct Progress(Mutex<State>);

#[derive(Debug)]
struct State {
    seeds: Range<u64>,
    done: u64,
    under_way: BTreeSet<u64>,
    began: Instant,
    said: Instant,
}

impl Progress {
    pub(super) fn new(seeds: Range<u64>) -> Self {
        let now = Instant::now();
        let under_way = BTreeSet::new();
        Self(Mutex::new(State { seeds, done: 0, under_way, began: now, said: now }))
    }

    /// The next seed, if there is one below `stop`.
    pub(super) fn next(&self, stop: u64) -> Option<u64> {
        let mut state = self.lock();
        let seed = state.next().filter(|seed| *seed < stop)?;
        state.under_way.insert(seed);
        Some(seed)
    }

    /// A seed is done.
    pub(super) fn done(&self, seed: u64) {
        let mut state = self.lock();
        state.under_way.remove(&seed);
        state.done += 1;
        if state.said.elapsed() >= EVERY {
            state.said = Instant::now();
            eprintln!("{state}");
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next(&self) -> Option<u64> {
        let next = self.seeds.start + self.done + self.under_way.len() as u64;
        (next < self.seeds.end).then_some(next)
    }
}

/// Says also where to go on from, if the sweep is stopped: all seeds below are done.
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.seeds.end - self.seeds.start;
        let (millis, left) = (self.began.elapsed().as_millis().max(1), all - self.done);
        let rate = u128::from(self.done) * 1_000 / millis;
        let seconds = u128::from(left) / rate.max(1);
        let from = self.under_way.first().copied().or(self.next()).unwrap_or(self.seeds.end);
        write!(
            f,
            "{} of {all} seeds, {rate} a second, {} min left; goes on with TENURE_SIM_FIRST={from}",
            self.done,
            seconds.div_ceil(60)
        )
    }
}
