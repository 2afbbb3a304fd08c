//! Many processes that count, and a server that crashes meanwhile.

use std::{
    env, thread,
    time::{Duration, Instant},
};

use super::Tally;
use crate::child::Process;

/// How long all of it may take on a slow machine.
const PATIENCE: Duration = Duration::from_secs(1_800);

/// How often the server crashes.
const CRASHES: u64 = 3;

/// How many count, and how often each.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Processes.
    pub processes: u64,
    /// Increments of each.
    pub rounds: u64,
}

impl Size {
    /// The long form where `TENURE_SOAK_SECONDS` says that there is time for it.
    #[must_use]
    pub fn wanted() -> Self {
        let is_long = env::var_os("TENURE_SOAK_SECONDS").is_some();
        let (processes, rounds) = if is_long { (64, 50) } else { (16, 8) };
        Self { processes, rounds }
    }

    /// All increments.
    #[must_use]
    pub fn all(self) -> u64 {
        self.processes * self.rounds
    }
}

/// Starts the processes, has the server crash three times while they count, and waits for them. `start` gets the number
/// of a process, which in the end says its [`Tally`]; `crash` gets the number of the crash, and starts the server
/// again; `counted` says how far they are, if the server answers.
///
/// # Panics
/// When they stand still, or one of them fails.
pub fn run(
    size: Size,
    start: impl Fn(u64) -> Process,
    mut crash: impl FnMut(u64),
    mut counted: impl FnMut() -> Option<u64>,
) -> Tally {
    let began = Instant::now();
    let mut children: Vec<_> = (0..size.processes).map(start).collect();
    for number in 1..=CRASHES {
        let so_many = size.all() * number / (CRASHES + 1);
        while counted().is_none_or(|counted| counted < so_many) {
            assert!(began.elapsed() < PATIENCE, "they stand still");
            thread::sleep(Duration::from_millis(20));
        }
        crash(number);
    }
    let mut tally = Tally::default();
    for child in &mut children {
        let told = child.says().unwrap_or_default();
        let Some(told) = Tally::told(&told) else { panic!("a process said {told:?}") };
        tally.add(told);
        assert!(child.ends_well());
    }
    let Size { processes, rounds } = size;
    eprintln!(
        "{processes} processes counted {rounds} times each in {:?}: {tally}",
        began.elapsed()
    );
    tally
}
