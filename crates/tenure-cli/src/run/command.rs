//! The step before the command: the last that is done in its process before it becomes the
//! command.

use std::{
    env::ArgsOs,
    ffi::{OsStr, OsString},
    io,
    os::unix::process::{CommandExt, parent_id},
    process::{Command, ExitCode},
};

use super::{COMMAND, own_program, signals, terminal::Terminal};
use crate::{
    exit::{self, Failure},
    output::refuse,
};

/// The command line of this step, run by the guardian `parent`.
pub(crate) fn step(
    parent: u32,
    foreground: bool,
    failed: u8,
    command: &[OsString],
) -> io::Result<Command> {
    let mut step = Command::new(own_program()?);
    step.arg0(COMMAND).arg(parent.to_string()).arg(foreground.to_string());
    step.arg(failed.to_string()).args(command);
    Ok(step)
}

/// Becomes the command. Returns only if that fails.
pub(crate) fn main(mut args: ArgsOs) -> ExitCode {
    let parent = args.next().and_then(|parent| parent.to_str()?.parse().ok());
    let foreground = args.next().is_some_and(|word| word == "true");
    let failed = args.next().and_then(|code| code.to_str()?.parse().ok());
    let failed = ExitCode::from(failed.unwrap_or(exit::FAILED));
    let (Some(parent), Some(program)) = (parent, args.next()) else {
        return ExitCode::from(exit::USAGE);
    };
    if end_with(parent).is_err() {
        return failed;
    }
    if foreground && let Some(terminal) = Terminal::open() {
        // Before the command can read: a background group that reads is stopped.
        terminal.give(nix::unistd::getpgrp());
    }
    if signals::deaf_to().thread_unblock().is_err() {
        return failed;
    }
    let error = Command::new(&program).args(args).exec();
    ExitCode::from(explain(&program, &error))
}

/// Lets the kernel kill this process when the guardian dies, and makes sure that it lives now.
fn end_with(parent: u32) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
    if parent_id() == parent { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
}

fn explain(program: &OsStr, error: &io::Error) -> u8 {
    let program = program.display();
    if error.kind() == io::ErrorKind::NotFound {
        let what = format!("cannot run {program}: no such command; check its spelling");
        refuse(&Failure::Failed(what));
        return exit::NOT_FOUND;
    }
    refuse(&Failure::Failed(format!(
        "cannot run {program}: {error}; is it an executable program?"
    )));
    exit::NOT_EXECUTABLE
}
