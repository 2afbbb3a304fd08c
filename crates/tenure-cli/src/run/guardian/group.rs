//! The process group of a command.

use std::io;

use nix::{
    errno::Errno,
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

use super::processes;

/// A process group, by the process that leads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessGroup(Pid);

impl ProcessGroup {
    pub(crate) fn led_by(leader: i32) -> Self {
        Self(Pid::from_raw(leader))
    }

    pub(crate) fn leader(self) -> Pid {
        self.0
    }

    /// Sends a signal to all of the group. That it has no members any more is no failure.
    pub(crate) fn signal(self, signal: Signal) {
        let _ = killpg(self.0, signal);
        if signal == Signal::SIGTERM {
            // A stopped process acts on it only when it goes on.
            let _ = killpg(self.0, Signal::SIGCONT);
        }
    }

    /// Whether nothing of the group lives.
    pub(crate) fn is_gone(self) -> bool {
        // Uncertain counts as alive.
        killpg(self.0, None) == Err(Errno::ESRCH)
            || !processes::group_has_processes(self.0).unwrap_or(true)
    }
}

/// Makes this process the one that collects the orphans among its descendants, so that it can tell
/// when they are gone.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_child_subreaper(true)?;
    Ok(())
}
