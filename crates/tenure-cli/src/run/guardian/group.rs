//! The process group of a command.

use std::{
    io,
    os::{fd::OwnedFd, unix::process::CommandExt},
    process,
};

use nix::{
    errno::Errno,
    sys::{
        signal::{Signal, killpg},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};

use crate::run::protocol::How;

/// A process group of which this process is the parent or, on Linux, the reaper.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group(Pid);

/// What became of the process that leads the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Stopped(i32),
    Ended(How),
}

impl Group {
    /// Starts `step` as the leader of a new group, reading from `stdin`.
    pub(crate) fn start(mut step: process::Command, stdin: OwnedFd) -> io::Result<Self> {
        let leader = step.stdin(stdin).process_group(0).spawn()?.id();
        i32::try_from(leader).map(Self::led_by).map_err(io::Error::other)
    }

    pub(crate) fn led_by(leader: i32) -> Self {
        Self(Pid::from_raw(leader))
    }

    pub(crate) fn leader(self) -> i32 {
        self.0.as_raw()
    }

    /// Sends a signal to all of the group. That it has no members any more is no failure.
    pub(crate) fn signal(self, signal: Signal) {
        let _ = killpg(self.0, signal);
        if signal == Signal::SIGTERM {
            // A stopped process acts on it only when it goes on.
            let _ = killpg(self.0, Signal::SIGCONT);
        }
    }

    /// Collects those of the group that ended, and says what happened to its leader.
    pub(crate) fn collect(self) -> Vec<Change> {
        let mut changes = Vec::new();
        let flags = WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED;
        loop {
            match waitpid(Pid::from_raw(-self.leader()), Some(flags)) {
                Ok(WaitStatus::Exited(pid, code)) if pid == self.0 => {
                    changes.push(Change::Ended(How::Code(code)));
                }
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == self.0 => {
                    changes.push(Change::Ended(How::Signal(signal as i32)));
                }
                Ok(WaitStatus::Stopped(pid, signal)) if pid == self.0 => {
                    changes.push(Change::Stopped(signal as i32));
                }
                Ok(WaitStatus::StillAlive) => return changes,
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return changes,
            }
        }
    }

    /// Whether nothing of the group lives, after [`collect`](Self::collect).
    pub(crate) fn is_gone(self) -> bool {
        match killpg(self.0, None) {
            Err(Errno::ESRCH) => true,
            _ => !self.has_living_member().unwrap_or(true),
        }
    }

    #[cfg(target_os = "linux")]
    fn has_living_member(self) -> io::Result<bool> {
        for entry in std::fs::read_dir("/proc")? {
            let path = entry?.path().join("stat");
            // A process that ended meanwhile cannot be read, and is no living one.
            let stat = std::fs::read_to_string(path).unwrap_or_default();
            if Member::parse(&stat).is_some_and(|it| it.group == self.leader() && it.counts()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    #[cfg(not(target_os = "linux"))]
    fn has_living_member(self) -> io::Result<bool> {
        Ok(true)
    }
}

/// One line of `/proc/PID/stat`.
#[cfg(target_os = "linux")]
struct Member {
    group: i32,
    parent: u32,
    dead: bool,
    threads: u32,
}

#[cfg(target_os = "linux")]
impl Member {
    fn parse(stat: &str) -> Option<Self> {
        // The name, in brackets, may hold anything. The state follows it.
        let fields: Vec<_> = stat.rsplit_once(") ")?.1.split(' ').collect();
        Some(Self {
            dead: matches!(*fields.first()?, "Z" | "X"),
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            threads: fields.get(17)?.parse().ok()?,
        })
    }

    /// Whether it runs, or is to be collected here. One whose parent left the group and does not
    /// collect it stays listed for ever, but is dead all the same.
    fn counts(&self) -> bool {
        !self.dead || self.threads > 1 || self.parent == process::id()
    }
}

/// Makes this process the one that collects the orphans among its descendants, so that it can tell
/// when they are gone.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_child_subreaper(true)?;
    Ok(())
}
