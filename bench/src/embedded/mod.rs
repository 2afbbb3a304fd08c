//! The figures of the embedded store, beside what people use instead of it on one machine.

mod acquire;
pub(crate) mod crash;
pub(crate) mod crowd;
pub(crate) mod handoff;
mod handover;
mod locked;
pub(crate) mod memory;
pub(crate) mod recorder;
mod reentry;

use std::{path::Path, time::Duration};

use crate::{failure::Failure, kinds, report::Report};

/// Takes every figure, each with `1 / shorter` of the usual number of rounds.
pub(crate) fn measure(dir: &Path, shorter: usize) -> Result<Report, Failure> {
    let mut report = Report::new();
    report.add(acquire::measure(dir, 200 / shorter)?);
    let url = format!("file:{}", dir.join("kinds").display());
    let title = "each kind of lock, embedded: acquire and release, uncontended";
    report.add(kinds::measure(&url, title, None, 200 / shorter)?);
    report.add(handoff::measure(dir, 500 / shorter)?);
    let length = Duration::from_millis(5000 / shorter as u64);
    report.extend(crowd::measure(dir, length)?);
    report.add(handover::measure(dir, 20 / shorter)?);
    report.add(crash::measure(dir, 20 / shorter)?);
    report.add(reentry::measure(200 / shorter)?);
    report.add(locked::measure(200 / shorter)?);
    report.add(recorder::measure(dir, 200 / shorter)?);
    report.add(memory::measure(dir)?);
    Ok(report)
}
