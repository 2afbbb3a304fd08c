//! The `tenure` command: run any program under a distributed lock.

#[cfg(not(unix))]
compile_error!("the tenure command needs Unix process groups: build it for Linux or macOS");

mod args;
mod commands;
mod exit;
mod output;
mod run;
mod settings;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    // `run` starts this very program again in other roles.
    if let Some(code) = run::play_role() {
        return code;
    }
    let cli = args::Cli::parse();
    let voice = output::Voice::new(&cli.common);
    let code = commands::dispatch(cli, &voice).unwrap_or_else(|failure| {
        voice.failure(&failure);
        failure.code()
    });
    ExitCode::from(code)
}
