//! Processes of the tests, and what becomes of them.

use std::{
    io::{PipeReader, PipeWriter, Write, pipe},
    os::unix::process::ExitStatusExt,
    process::{Child, Command, Output},
};

use nix::{
    fcntl::{FcntlArg, fcntl},
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::scene::eventually;

/// A program with the signals as a terminal starts it: a shell that runs the tests in the background
/// ignores some, and what is ignored is inherited. In a session of its own, as it would share the
/// terminal of whoever runs the tests, and send on to them what its command dies of.
pub(crate) fn program(program: &str) -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal", "setsid", program]);
    command
}

/// A process that does not outlive its test.
pub(crate) struct Running(Option<Child>);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(Some(command.spawn().unwrap()))
    }

    pub(crate) fn of(child: Child) -> Self {
        Self(Some(child))
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.0.as_ref().unwrap().id()).unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid()), signal).unwrap();
    }

    /// Its guardian's process number, as soon as it has one.
    pub(crate) fn guardian(&self) -> i32 {
        self.descendant("lock-guardian")
    }

    /// The process number of the guardian's standby, as soon as it has one.
    pub(crate) fn standby(&self) -> i32 {
        self.descendant("lock-standby")
    }

    fn descendant(&self, wanted: &str) -> i32 {
        let mut found = None;
        eventually(&format!("{wanted} is there"), || {
            let mut generation = children(self.pid());
            // The eldest: one that was just forked still has the name of its parent.
            while found.is_none() && !generation.is_empty() {
                found = generation.iter().copied().find(|pid| name(*pid) == wanted);
                generation = generation.into_iter().flat_map(children).collect();
            }
            found.is_some()
        });
        found.unwrap()
    }

    pub(crate) fn wait(mut self) -> Output {
        self.0.take().unwrap().wait_with_output().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A pipe without room, and the end at which nobody reads.
pub(crate) fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = pipe().unwrap();
    let room = fcntl(&writer, FcntlArg::F_GETPIPE_SZ).unwrap();
    writer.write_all(&vec![b'x'; room.try_into().unwrap()]).unwrap();
    (reader, writer)
}

/// Exit code, or 1000 + the signal that ended the process.
pub(crate) fn code(output: &Output) -> i32 {
    let status = output.status;
    status.code().unwrap_or_else(|| 1000 + status.signal().unwrap())
}

/// Whether a process lives; one that only waits to be collected does not.
pub(crate) fn lives(pid: i32) -> bool {
    !matches!(state(pid), None | Some('Z' | 'X'))
}

/// Whether a process is stopped.
pub(crate) fn is_stopped(pid: i32) -> bool {
    state(pid) == Some('T')
}

fn state(pid: i32) -> Option<char> {
    // Its name may be cut within a character.
    let stat = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    let stat = String::from_utf8_lossy(&stat);
    stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
}

fn name(pid: i32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

pub(crate) fn children(pid: i32) -> Vec<i32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

pub(crate) fn send(pid: i32, signal: Signal) {
    kill(Pid::from_raw(pid), signal).unwrap();
}
