//! Child processes: this very program, started again to play one part.

use std::{
    env,
    io::{BufRead, BufReader, Lines, Write, stdin, stdout},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use nix::time::{ClockId, clock_gettime};

use crate::failure::Failure;

/// A child that plays a part.
#[derive(Debug)]
pub(crate) struct Player {
    process: Child,
    orders: ChildStdin,
    words: Lines<BufReader<ChildStdout>>,
}

impl Player {
    /// Starts a child that plays `part` in `dir`.
    pub(crate) fn start(part: &[&str], dir: &Path) -> Result<Self, Failure> {
        Self::run(Command::new(env::current_exe()?).arg("--part").args(part).arg(dir))
    }

    /// Starts another program that plays one.
    pub(crate) fn run(program: &mut Command) -> Result<Self, Failure> {
        let mut process = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(orders), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("a child without pipes".into());
        };
        Ok(Self { process, orders, words: BufReader::new(output).lines() })
    }

    /// The next line that the child writes.
    pub(crate) fn hear(&mut self) -> Result<String, Failure> {
        Ok(self.words.next().ok_or("a child ended early")??)
    }

    /// Tells the child to go on.
    pub(crate) fn go_on(&mut self) -> Result<(), Failure> {
        self.tell("go on")
    }

    /// Tells the child something.
    pub(crate) fn tell(&mut self, order: impl std::fmt::Display) -> Result<(), Failure> {
        Ok(writeln!(self.orders, "{order}")?)
    }

    /// Kills it as `kill -9` does.
    pub(crate) fn kill(&mut self) -> Result<(), Failure> {
        Ok(self.process.kill()?)
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// In a child: tells the parent something.
pub(crate) fn say(word: impl std::fmt::Display) -> Result<(), Failure> {
    let mut output = stdout().lock();
    writeln!(output, "{word}")?;
    Ok(output.flush()?)
}

/// In a child: waits for the parent; `false` if that has nothing more to say.
pub(crate) fn await_order() -> Result<bool, Failure> {
    Ok(stdin().read_line(&mut String::new())? > 0)
}

/// Nanoseconds on a clock that all processes of the machine share.
pub(crate) fn now() -> Result<u64, Failure> {
    let time = std::time::Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC)?);
    Ok(u64::try_from(time.as_nanos())?)
}
