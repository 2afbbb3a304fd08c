//! `tenure bench`.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::values::round;

#[derive(Args, Debug)]
pub(crate) struct Bench {
    /// What to measure [default: both]
    #[arg(value_name = "WORK")]
    pub(crate) works: Vec<Workload>,
    /// How many tasks of this process make pairs, each with its own name: 1 to 4096
    #[arg(
        long,
        value_name = "N,N,…",
        value_delimiter = ',',
        default_value = "1,16,256",
        value_parser = clap::value_parser!(u16).range(1..=4096)
    )]
    pub(crate) tasks: Vec<u16>,
    /// How long one round takes: 10ms to 60s
    #[arg(long = "for", value_name = "TIME", default_value = "2s", value_parser = round)]
    pub(crate) length: Duration,
    /// How many rounds to measure: 1 to 100
    #[arg(
        long,
        value_name = "N",
        default_value = "5",
        value_parser = clap::value_parser!(u32).range(1..=100)
    )]
    pub(crate) rounds: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Workload {
    /// Acquire a free lock and release it, repeatedly
    Pair,
    /// The time from a release in one process to the grant in another
    Handoff,
}

impl Bench {
    /// Whether this is to be measured.
    pub(crate) fn wants(&self, work: Workload) -> bool {
        self.works.is_empty() || self.works.contains(&work)
    }

    /// How many tasks there are in turn, each number once.
    pub(crate) fn tasks(&self) -> Vec<usize> {
        let mut tasks: Vec<usize> = Vec::new();
        for &count in &self.tasks {
            if !tasks.contains(&count.into()) {
                tasks.push(count.into());
            }
        }
        tasks
    }
}
