//! Breaks one rule of tenure at a time and shows how the simulation notices.
//!
//! `cargo run -p tenure-sim --example mutants [RULE]`: with a rule, what happened in the run
//! that noticed it, line by line; without one, a table of all rules.

use std::process::ExitCode;

use tenure_core::proto::rule::{Rule, break_rule};
use tenure_sim::{replay, sweep_with};

const SEEDS: u64 = 20_000;

fn main() -> ExitCode {
    let Some(wanted) = std::env::args().nth(1) else {
        // Those of quorums are broken in the tests of quorums.
        for rule in Rule::ALL.iter().filter(|rule| !Rule::OF_QUORUMS.contains(rule)) {
            show(*rule);
        }
        return ExitCode::SUCCESS;
    };
    let Some(rule) = Rule::ALL.iter().find(|rule| format!("{rule:?}") == wanted) else {
        eprintln!("there is no rule {wanted}; choose one of {:#?}", Rule::ALL);
        return ExitCode::FAILURE;
    };
    let Some(seed) = show(*rule) else { return ExitCode::FAILURE };
    let _broken = break_rule(*rule);
    for line in replay(seed).trace {
        eprintln!("{line}");
    }
    ExitCode::SUCCESS
}

/// Prints what noticed that a rule was broken, and at which seed.
fn show(rule: Rule) -> Option<u64> {
    let caught = sweep_with(0..SEEDS, Some(rule)).failure;
    let seed = caught.as_ref().map(|run| run.seed);
    match caught.and_then(|run| run.violation) {
        Some(violation) => eprintln!("{rule:?}, seed {}: {violation}", seed.unwrap_or(0)),
        None => eprintln!("{rule:?}: not noticed in {SEEDS} seeds"),
    }
    seed
}
