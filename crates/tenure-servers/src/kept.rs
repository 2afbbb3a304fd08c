//! A process that ends with ours, however that ends: what a static holds is never dropped.

use std::{
    io,
    path::Path,
    process::{Child, Command, Stdio},
};

/// Waits for the end of its input, which comes with the end of whoever holds the other end.
const KEEPER: &str = r#"read -r _; kill -CONT "$1"; kill "$3" "$1"; for _ in 1 2 3 4 5 6 7 8 9 10
do kill -0 "$1" || break; sleep 0.1; done; kill -9 "$1"; rm -rf "$2""#;

/// A process, and what ends it and removes its folder if we are gone before. Dropping it ends both.
#[derive(Debug)]
pub(crate) struct SupervisedProcess {
    process: Child,
    keeper: Child,
}

impl SupervisedProcess {
    pub(crate) fn start(command: &mut Command, folder: &Path) -> io::Result<Self> {
        Self::ended_by("-KILL", command, folder)
    }

    /// One that is asked to end by this signal first, since it leaves things elsewhere.
    pub(crate) fn ended_by(signal: &str, command: &mut Command, folder: &Path) -> io::Result<Self> {
        let mut process = command.spawn()?;
        let mut keeper = Command::new("/bin/sh");
        keeper.args(["-c", KEEPER, "sh", &process.id().to_string()]).arg(folder).arg(signal);
        keeper.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        match keeper.spawn() {
            Ok(keeper) => Ok(Self { process, keeper }),
            Err(error) => {
                let _ = process.kill();
                let _ = process.wait();
                Err(error)
            }
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Whether it has not ended.
    pub(crate) fn runs(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }
}

impl Drop for SupervisedProcess {
    fn drop(&mut self) {
        // First, since it knows the process by its number alone.
        for process in [&mut self.keeper, &mut self.process] {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Runs it to its end. An error is what it says.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let done = command.output().map_err(|error| format!("{command:?}: {error:#}"))?;
    if done.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&done.stderr)))
}
