//! What CPU processes have used, in microseconds.

use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeVal,
};

use crate::failure::Failure;

/// This process.
pub(crate) fn own() -> Result<f64, Failure> {
    let used = getrusage(UsageWho::RUSAGE_SELF)?;
    let micros = |time: TimeVal| time.tv_sec() as f64 * 1e6 + time.tv_usec() as f64;
    Ok(micros(used.user_time()) + micros(used.system_time()))
}

/// The threads of another that live, where the system tells.
pub(crate) fn of(process: u32) -> f64 {
    let used = || {
        let mut nanos = 0.0;
        for task in std::fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten() {
            let told = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            nanos += told.split(' ').next()?.parse::<f64>().ok()?;
        }
        Some(nanos / 1e3)
    };
    used().unwrap_or(f64::NAN)
}

/// The same along with the processes that it started and that live.
pub(crate) fn of_all(process: u32) -> f64 {
    let file = format!("/proc/{process}/task/{process}/children");
    let children = std::fs::read_to_string(file).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|child| child.parse().ok());
    // One that ended meanwhile counts as nothing.
    let used = children.map(of).filter(|used| used.is_finite());
    of(process) + used.sum::<f64>()
}
