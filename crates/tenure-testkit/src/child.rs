//! Processes of their own: a test binary runs itself again in a role, told by an environment variable,
//! and the two speak over the child's standard input and output.
//!
//! The binary has a test `child::plays_its_role` that does nothing but call [`role`] and play it.

#![allow(
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::unwrap_used,
    reason = "it is part of a test, which may fail"
)]

use std::{
    env,
    ffi::OsStr,
    fmt::Display,
    io::{BufRead, BufReader, Write, stdin, stdout},
    path::Path,
    process::{self, Child, ChildStdin, ChildStdout, Command, Stdio},
};

const ROLE: &str = "TENURE_TEST_ROLE";
/// What a role says begins with this, so that the test harness's own lines are told apart.
pub const SAID: &str = "@";

/// A child that runs; it is killed when this is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// Copies a program that is to be run at once. A file that this process had open for writing could not be run for as
/// long as a child that another test starts has it open, too.
pub fn copy_program(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let copied = Command::new("cp").arg(from.as_ref()).arg(to.as_ref()).status();
    assert!(copied.unwrap().success());
}

/// A command that runs `program`, perhaps through others that come before it, in a role.
#[must_use]
pub fn command(before: &[&str], program: &Path, role: &[&str]) -> Command {
    let mut words = before.iter().map(OsStr::new).chain([program.as_os_str()]);
    let mut command = Command::new(words.next().unwrap());
    command.args(words).args(["child::plays_its_role", "--exact", "--nocapture"]);
    command.env(ROLE, role.join("\n"));
    command
}

impl Process {
    /// Starts this very program in a role.
    #[must_use]
    pub fn start(role: &[&str]) -> Self {
        Self::run(&mut command(&[], &env::current_exe().unwrap(), role))
    }

    /// Runs what [`command`] made.
    #[must_use]
    pub fn run(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { input: child.stdin.take().unwrap(), output, child }
    }

    /// The next thing that the child says; `None` when it has ended.
    pub fn says(&mut self) -> Option<String> {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            if let Some((_, said)) = line.trim_end().split_once(SAID) {
                return Some(said.to_owned());
            }
            line.clear();
        }
        None
    }

    /// The token of the lock that the child says it holds.
    pub fn says_held(&mut self) -> u64 {
        let said = self.says().unwrap();
        let token = said.strip_prefix("held ");
        token.unwrap_or_else(|| panic!("it said {said:?}")).parse().unwrap()
    }

    /// Tells the child to go on.
    pub fn go_on(&mut self) {
        writeln!(self.input).unwrap();
    }

    /// Asks something and hears the answer.
    pub fn asked(&mut self, order: &str) -> String {
        writeln!(self.input, "{order}").unwrap();
        self.says().unwrap()
    }

    /// Sends a signal as `kill` names it: `-STOP`.
    pub fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Kills it as `kill -9` does, and returns when it is dead.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end, and says whether it was a good one.
    pub fn ends_well(&mut self) -> bool {
        self.child.wait().unwrap().success()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// In a child: the words of its role.
#[must_use]
pub fn role() -> Option<Vec<String>> {
    Some(env::var(ROLE).ok()?.split('\n').map(str::to_owned).collect())
}

/// In a child: says something to the parent.
pub fn say(text: impl Display) {
    // Not print!, which the test harness may catch.
    let mut out = stdout().lock();
    writeln!(out, "{SAID}{text}").unwrap();
    out.flush().unwrap();
}

/// In a child: the parent's next order. The process ends with its parent.
#[must_use]
pub fn order() -> String {
    let mut line = String::new();
    if stdin().read_line(&mut line).unwrap() == 0 {
        process::exit(0);
    }
    line.trim_end().to_owned()
}

/// In a child: waits until the parent tells it to go on.
pub fn wait_to_go_on() {
    let _ = order();
}
