//! A soak: processes that lock for a long time on real servers, which are restarted meanwhile, and some of which are
//! killed. Nothing may be granted twice or lost, and nothing may grow. `scripts/soak` runs it for as long as it is told;
//! without its options it is a test of a few seconds, all stores side by side.

#![allow(
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test may, and has no harness here"
)]

mod child;
mod lines;
mod measures;
mod options;
mod part;
mod place;
mod run;
mod series;
mod table;
mod tally;
mod told;

use std::{env, process::ExitCode, thread};

use options::Options;
use run::Outcome;

fn main() -> ExitCode {
    if let Some(part) = part::wanted() {
        return part::play(&part);
    }
    let options = match Options::parse(env::args().skip(1)) {
        Ok(options) => options,
        Err(wrong) => {
            eprintln!("{wrong}");
            return ExitCode::from(2);
        }
    };
    let outcomes = if options.together {
        let runs = options.stores.iter().map(|&store| {
            let options = options.clone();
            thread::spawn(move || run::run(store, &options))
        });
        let runs: Vec<_> = runs.collect();
        runs.into_iter()
            .zip(&options.stores)
            .map(|(run, &store)| joined(store, run.join()))
            .collect()
    } else {
        let run = |&store| {
            let options = options.clone();
            joined(store, thread::spawn(move || run::run(store, &options)).join())
        };
        options.stores.iter().map(run).collect()
    };
    tell(&options, outcomes)
}

fn joined(store: place::Kind, run: thread::Result<Outcome>) -> Outcome {
    run.unwrap_or_else(|_| Outcome::failed(store, "the run itself failed".to_owned()))
}

fn tell(options: &Options, outcomes: Vec<Outcome>) -> ExitCode {
    let failed = outcomes.iter().filter(|outcome| !outcome.wrong.is_empty()).count();
    if options.json {
        println!("{}", table::json(&outcomes));
    } else {
        for outcome in &outcomes {
            // The short form is a test, and says more only where it fails.
            if options.is_long || !outcome.wrong.is_empty() {
                println!("{}", table::text(outcome));
            }
        }
    }
    if !options.is_long {
        for outcome in &outcomes {
            let end = if outcome.wrong.is_empty() { "ok" } else { "FAILED" };
            println!("test a_short_soak_of_{} ... {end}", outcome.store.name());
        }
        let end = if failed == 0 { "ok" } else { "FAILED" };
        let passed = outcomes.len() - failed;
        println!(
            "\ntest result: {end}. {passed} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out"
        );
    }
    ExitCode::from(u8::from(failed > 0))
}
