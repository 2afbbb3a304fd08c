//! The lock on ZooKeeper, beside the same operations by hand and beside Curator.

mod bare;
mod crowd;
mod curator;
mod handoff;
mod holds;
mod pairs;
mod server;

use std::path::Path;

use crate::{failure::Failure, group::Group, report::Report};

pub(crate) use self::{bare::Bare, server::Server};

/// The length of every session.
const SESSION: std::time::Duration = std::time::Duration::from_secs(10);

/// Takes every figure: the contestants take turns so often, and less if it is to be `quick`.
pub(crate) fn measure(
    dir: &Path,
    rounds: usize,
    quick: bool,
    only: &[Group],
) -> Result<Report, Failure> {
    let mut report = Report::new();
    let server = Server::start(dir)?;
    report.tell(server.settings()?);
    let curator = match curator::Program::build() {
        Ok(program) => {
            report.tell(program.settings());
            Some(program)
        }
        Err(why) => {
            report.tell(format!("Curator is not measured: {why}"));
            None
        }
    };
    let scene = Scene { dir, server: &server, curator: curator.as_ref(), rounds, quick };
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
    server: &'a Server,
    /// Missing where it cannot be built.
    curator: Option<&'a curator::Program>,
    rounds: usize,
    quick: bool,
}
