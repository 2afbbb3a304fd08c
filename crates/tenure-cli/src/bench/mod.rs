//! Measuring a store: pairs in this process, and hand-offs between two others.
//!
//! Every name is new and random, so that nobody's lock is touched, and every lease is short: what a
//! killed measurement leaves is gone soon.

mod figures;
pub(crate) mod handoff;
pub(crate) mod pair;
mod player;
pub(crate) mod progress;
mod turns;

use std::{
    env,
    hash::{BuildHasher, RandomState},
    process::ExitCode,
    time::Duration,
};

use tenure::{Mutex, Tenure};

use crate::label;

/// What a process that takes turns is called in a list of processes.
const TURNS: &str = "lock-bench";

const TTL: Duration = Duration::from_secs(10);
/// After so long without a lock, or without a word, something is wrong.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a task or a process cannot go on.
type BenchError = Box<dyn std::error::Error + Send + Sync>;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeasurementExtent {
    /// How long one round takes.
    pub(crate) length: Duration,
    pub(crate) rounds: u32,
}

/// Takes turns with another process if this one was started for that.
pub(crate) fn run_worker_role() -> Option<ExitCode> {
    let mut args = env::args_os();
    (args.next()? == TURNS).then(|| turns::main(args))
}

/// The beginning of names that nobody else has.
pub(crate) fn unique_name_prefix() -> String {
    format!("tenure-bench:{:016x}", RandomState::new().hash_one(std::process::id()))
}

/// A lock as all are that are measured, whatever the configuration says of locks.
fn lock(tenure: &Tenure, name: &str) -> Mutex {
    tenure.mutex(name).ttl(TTL).wait(PATIENCE).label(label::of_this_process(&["bench".into()]))
}
