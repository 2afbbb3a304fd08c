//! The lock on a database, beside bare statements by hand, the locks of the server itself, and ShedLock.

mod crowd;
mod handoff;
mod holds;
mod lock;
mod pairs;
mod shedlock;

use std::path::Path;

use crate::{failure::Failure, group::Group, report::Report};

pub(crate) use self::lock::{Bare, Lock, contestant};

/// A server for the figures, which ends with the value.
pub(crate) trait Server: Sized {
    /// What is said of it.
    const WORDS: Words;
    /// A row that is a lock, by hand.
    type Row: Bare;
    /// A lock that the server itself has.
    type Own: Lock;

    /// Starts one with its data in or beside `dir`.
    fn start(dir: &Path) -> Result<Self, Failure>;

    /// Its URL for tenure and for others.
    fn url(&self) -> String;

    /// The same for JDBC, the user, and the type of times in the table that ShedLock's documentation gives.
    fn jdbc(&self) -> [String; 3];

    /// Its version, and how it was set up.
    fn settings(&self) -> Result<String, Failure>;

    /// How many statements it has run for others.
    fn statements(&self) -> Result<f64, Failure>;

    /// How many sessions others have.
    fn sessions(&self) -> Result<f64, Failure>;

    /// Microseconds of CPU that it has used for sessions that are still there, where the system tells.
    fn cpu(&self) -> f64;

    /// The statements that were run while `during` ran.
    fn statements_during<T>(
        &self,
        during: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<(T, f64), Failure> {
        let before = self.statements()?;
        let done = during()?;
        Ok((done, self.statements()? - before))
    }
}

/// What is said of a database.
pub(crate) struct Words {
    /// Its name.
    pub(crate) database: &'static str,
    /// What its own locks are called.
    pub(crate) own: &'static str,
    /// How a child is told to play tenure, the row by hand, and the server's own lock.
    pub(crate) parts: [&'static str; 3],
    /// What the others do in a pair.
    pub(crate) pair: &'static str,
    /// What the others do in a hand-off between two processes.
    pub(crate) handoff: &'static str,
    /// What the others do where many wait.
    pub(crate) crowd: &'static str,
    /// What tenure aims at in that of two processes.
    pub(crate) goal: Option<&'static str>,
}

/// Takes every figure: the contestants take turns so often, and less if it is to be `quick`.
pub(crate) fn measure<S: Server>(
    dir: &Path,
    rounds: usize,
    quick: bool,
    only: &[Group],
) -> Result<Report, Failure> {
    let mut report = Report::new();
    let server = S::start(dir)?;
    report.tell(server.settings()?);
    let shedlock = match shedlock::Program::build() {
        Ok(program) => {
            report.tell(program.settings());
            Some(program)
        }
        Err(why) => {
            report.tell(format!("ShedLock is not measured: {why}"));
            None
        }
    };
    let scene = Scene { dir, server: &server, shedlock: shedlock.as_ref(), rounds, quick };
    for group in Group::chosen(only) {
        let figures = match group {
            Group::Pairs => pairs::measure(&scene)?,
            Group::Handoff => handoff::measure(&scene)?,
            Group::Crowd => crowd::measure(&scene)?,
            Group::Holds => holds::measure(&scene)?,
        };
        for figure in figures {
            report.add(figure);
        }
    }
    Ok(report)
}

/// What all figures are taken with.
struct Scene<'a, S> {
    dir: &'a Path,
    server: &'a S,
    /// Missing where it cannot be built.
    shedlock: Option<&'a shedlock::Program>,
    rounds: usize,
    quick: bool,
}
