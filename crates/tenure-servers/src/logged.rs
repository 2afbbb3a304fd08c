//! A server that says in its log when it may be asked.

use std::{
    fs::{self, File},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::kept::SupervisedProcess;

/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long it may take to end when it is asked to.
const ENDING: Duration = Duration::from_secs(10);

/// A process whose log is a file in its folder. Both end with ours.
#[derive(Debug)]
pub(crate) struct LoggedProcess(SupervisedProcess);

impl LoggedProcess {
    /// Starts it, and returns when its log has `ready`. An error is what the log says instead.
    pub(crate) fn start(command: &mut Command, log: &Path, ready: &str) -> Result<Self, String> {
        let file = File::create(log).map_err(|error| error.to_string())?;
        let copy = file.try_clone().map_err(|error| error.to_string())?;
        command.stdin(Stdio::null()).stdout(copy).stderr(file);
        let folder = log.parent().unwrap_or(log);
        let mut server =
            Self(SupervisedProcess::start(command, folder).map_err(|error| error.to_string())?);
        let since = Instant::now();
        loop {
            let said = fs::read_to_string(log).unwrap_or_default();
            if said.contains(ready) {
                return Ok(server);
            }
            if since.elapsed() > PATIENCE || !server.0.runs() {
                return Err(said);
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ends it by this signal, as `kill` names it. What that does not help with ends as by `kill -9` when this is
    /// dropped.
    pub(crate) fn end(&mut self, signal: &str) {
        let _ = Command::new("kill").args([signal, &self.0.id().to_string()]).status();
        let since = Instant::now();
        while since.elapsed() < ENDING && self.0.runs() {
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}
