//! The figures of the lock on Redis, beside what a careful user writes by hand.

mod acquire;
pub(crate) mod handoff;
pub(crate) mod holds;
mod layouts;
mod quorum;

use std::path::Path;

use crate::{
    failure::Failure, figures::Server as _, kinds, report::Report, servers::redis::Server,
};

/// Takes every figure, each with `1 / shorter` of the usual number of rounds.
pub(crate) fn measure(dir: &Path, shorter: usize) -> Result<Report, Failure> {
    let mut report = Report::new();
    let server = Server::start(dir)?;
    let title = "each kind of lock, Redis: acquire and release, uncontended";
    let goal = Some("read at most 1.2 times the mutex");
    report.add(kinds::measure(&server.url(), title, goal, 100 / shorter)?);
    drop(server);
    report.extend(acquire::measure(dir, 30 / shorter)?);
    report.extend(handoff::measure(dir, 500 / shorter)?);
    report.extend(layouts::measure(dir, 20 / shorter)?);
    report.extend(holds::measure(dir, (60 / shorter as u64).max(20))?);
    report.add(quorum::measure(dir, 50 / shorter)?);
    Ok(report)
}
