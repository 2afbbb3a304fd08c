//! The `tenure` command: run any program under a distributed lock.

#[cfg(not(unix))]
compile_error!("the tenure command needs Unix process groups: build it for Linux or macOS");

mod args;
mod bench;
mod commands;
mod completing;
mod exit;
mod explanation;
mod export;
mod exposition;
mod handle;
mod hold;
mod label;
mod outcome;
mod output;
mod pages;
mod record;
mod run;
mod settings;
mod slots;
mod store;
mod system;

use std::{env, ffi::OsString, process::ExitCode};

use args::hints::UsageError;

fn main() -> ExitCode {
    system::caught(|| Ok(run_command_line())).unwrap_or_else(|failure| {
        output::refuse(&failure, None);
        ExitCode::from(exit::FAILED)
    })
}

fn run_command_line() -> ExitCode {
    // `run` and `bench` start this very program again in other roles.
    if let Some(code) = run::run_guardian_role().or_else(bench::run_worker_role) {
        return code;
    }
    let words: Vec<OsString> = env::args_os().collect();
    if let Some(code) = completing::answer(&words) {
        return code;
    }
    let cli = match args::Cli::read(&words) {
        // Everybody may read the words; nobody has to read them once more in what is said of them.
        Ok(_) if handle::words::has_one(&words) => return refuse(&words),
        Err(error) if error.use_stderr() && handle::words::may_show_one(&words) => {
            return refuse(&words);
        }
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => {
            match args::hints::explain(error, &words) {
                UsageError::Said(text) => output::misread(&text),
                UsageError::Parts(why) => {
                    output::refuse(&exit::Failure::Usage(why), Some(exit::USAGE));
                }
            }
            return ExitCode::from(exit::USAGE);
        }
        Err(error) => error.exit(),
    };
    run::signals::inherited::reset_inherited_state();
    let mut voice = output::Reporter::new(&cli.common);
    let done = system::caught(|| commands::dispatch(cli, &mut voice));
    let code = done.unwrap_or_else(|failure| {
        voice.failure(&failure);
        if let exit::Failure::Interrupted { signal, .. } = failure
            && let Some(interrupt) = run::interrupt::FatalSignal::from_typed_signal(signal)
        {
            interrupt.die();
        }
        voice.codes().of(&failure)
    });
    ExitCode::from(code)
}

/// Refuses a command line with a secret on it.
fn refuse(words: &[OsString]) -> ExitCode {
    let failure = exit::Failure::Usage(handle::words::REFUSAL.into());
    output::refuse(&failure, args::hints::asks_for_json(words).then_some(exit::USAGE));
    ExitCode::from(exit::USAGE)
}
