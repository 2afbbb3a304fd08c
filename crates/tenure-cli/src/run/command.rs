//! The command's process, and the last that is done in it before it becomes the command.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::{
        fd::OwnedFd,
        unix::process::{CommandExt, parent_id},
    },
    panic::{AssertUnwindSafe, catch_unwind},
    process::{self, Command},
};

use fork::{Fork, fork};
use nix::unistd::{Pid, getpgrp, setpgid};
use tenure::config::without_passwords;

use super::{signals, terminal::Terminal};
use crate::{
    exit::{self, Failure},
    explanation::Explanation,
    output::refuse,
};

/// How a command is started.
#[derive(Debug)]
pub(crate) struct CommandSpec {
    /// The command and its arguments.
    pub(crate) command: Vec<OsString>,
    /// What it reads.
    pub(crate) stdin: OwnedFd,
    /// Whether its group gets the terminal.
    pub(crate) foreground: bool,
    /// The exit code where the system keeps its process from becoming the command.
    pub(crate) failed: u8,
    /// Whether why it cannot be run is told as JSON.
    pub(crate) json: bool,
}

impl CommandSpec {
    /// Starts the command as the leader of a new group, and gives its process. Only for a process
    /// without other threads: what these hold, the new one would wait for.
    pub(crate) fn fork_command(self) -> io::Result<Pid> {
        let guardian = process::id();
        match fork()? {
            Fork::Child => {
                let failed = self.failed;
                // Nothing of the runtime is dropped, not even by a panic: its files are the guardian's, too.
                let become_it = AssertUnwindSafe(|| self.become_command(guardian));
                process::exit(catch_unwind(become_it).unwrap_or(failed).into())
            }
            Fork::Parent(pid) => {
                let pid = Pid::from_raw(pid);
                // It does so itself as well: whoever is told of it finds the group, whichever is first.
                // The later one may be refused.
                let _ = setpgid(pid, pid);
                Ok(pid)
            }
        }
    }

    /// Becomes the command, as a child of `guardian`. Returns the exit code if that fails.
    fn become_command(self, guardian: u32) -> u8 {
        let Self { command, stdin, foreground, failed, json } = self;
        let mut words = command.into_iter();
        let Some(program) = words.next() else { return exit::USAGE };
        if enter_own_group(guardian).is_err() {
            return failed;
        }
        if foreground && let Some(terminal) = Terminal::open() {
            // Before the command can read: a background group that reads is stopped.
            terminal.set_foreground_group(getpgrp());
        }
        if signals::blocked_signals().thread_unblock().is_err() {
            return failed;
        }
        let error = Command::new(&program).args(words).stdin(stdin).exec();
        explain(&program, &error, json)
    }
}

/// Leads a group of its own, lets the kernel kill this process when the guardian dies, and makes sure
/// that it lives now.
fn enter_own_group(guardian: u32) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::{prctl, signal::Signal};
        prctl::set_name(c"lock-command")?;
        prctl::set_pdeathsig(Signal::SIGKILL)?;
    }
    let this = Pid::from_raw(0);
    setpgid(this, this)?;
    if parent_id() == guardian { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
}

fn explain(program: &OsStr, error: &io::Error, json: bool) -> u8 {
    // It may be a URL that stands in its place.
    let shown = without_passwords(&program.to_string_lossy());
    let why = Explanation::new(format!("command {shown:?} cannot be run"));
    let why = why.because(error).kind(Some("not_run"));
    let (help, code) = if error.kind() == io::ErrorKind::NotFound {
        ("correct its spelling, or write its full path", exit::NOT_FOUND)
    } else {
        ("name an executable program; for a script write sh -c '…'", exit::NOT_EXECUTABLE)
    };
    refuse(&Failure::Failed(why.advise(help)), json.then_some(code));
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_becomes_a_command_that_no_guardian_is_there_for() {
        let stdin = OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        let command = vec!["false".into()];
        let start = CommandSpec { command, stdin, foreground: false, failed: 81, json: false };
        // Where it went on, this process would be `false`.
        assert_eq!(start.become_command(999_999_999), 81);
        #[cfg(target_os = "linux")]
        nix::sys::prctl::set_pdeathsig(None).unwrap();
    }
}
