//! The lock on PostgreSQL, beside bare statements by hand, advisory locks and ShedLock.

mod advisory;
mod crowd;
mod handoff;
mod holds;
mod pairs;
mod row;
mod server;
mod session;
mod shedlock;

use std::path::Path;

use crate::{Failure, group::Group, report::Report};

pub(crate) use self::{advisory::Advisory, row::Row};

/// Takes every figure: the contestants take turns so often, and less if it is to be `quick`.
pub(crate) fn measure(
    dir: &Path,
    rounds: usize,
    quick: bool,
    only: &[Group],
) -> Result<Report, Failure> {
    let mut report = Report::new();
    let server = server::Server::start(dir)?;
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
struct Scene<'a> {
    dir: &'a Path,
    server: &'a server::Server,
    /// Missing where it cannot be built.
    shedlock: Option<&'a shedlock::Program>,
    rounds: usize,
    quick: bool,
}
