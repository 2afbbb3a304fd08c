//! The command and what it started.

use std::io;

use nix::{
    errno::Errno,
    sys::{
        signal::{Signal, kill},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};

use super::{group::ProcessGroup, processes};
use crate::run::{command::CommandSpec, ending::ProcessExit};

/// The command's process group, and what it started in other groups of its session, as shells do
/// with their jobs.
///
/// The latter become children of this process when their own parent is gone: killing the children
/// until there are none gets all of them.
#[derive(Debug)]
pub(super) struct ProcessTree {
    group: ProcessGroup,
    /// Whether the command itself was collected. As long as it is not, its group's number is nobody else's.
    leader_is_collected: bool,
    /// Whether the group was seen to be gone since.
    group_is_gone: bool,
    /// Whether this process was without children when it last looked.
    childless: bool,
}

/// What became of the command itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChildStatus {
    Stopped(i32),
    Ended(ProcessExit),
}

impl ProcessTree {
    /// Starts the command as the leader of a new group.
    pub(super) fn start(start: CommandSpec) -> io::Result<Self> {
        let group = ProcessGroup::led_by(start.fork_command()?.as_raw());
        Ok(Self { group, leader_is_collected: false, group_is_gone: false, childless: false })
    }

    pub(super) fn leader(&self) -> Pid {
        self.group.leader()
    }

    /// Passes a signal on to the command's group.
    pub(super) fn signal(&mut self, signal: Signal) {
        if !self.group_is_gone() {
            self.group.signal(signal);
        }
    }

    /// Sends a signal that is to end all of the family.
    pub(super) fn signal_all(&mut self, signal: Signal) {
        self.signal(signal);
        // Where the list cannot be read, the group is all that can be told.
        for child in self.others().unwrap_or_default() {
            // It cannot be somebody else's: only this process collects its children.
            let _ = kill(child, signal);
        }
    }

    /// Collects the dead, and says what happened to the command itself.
    pub(super) fn collect(&mut self) -> Vec<ChildStatus> {
        let mut changes = Vec::new();
        let leader = self.leader();
        loop {
            let waited = waitpid(None, Some(WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED));
            self.leader_is_collected |= matches!(
                waited,
                Ok(WaitStatus::Exited(pid, _) | WaitStatus::Signaled(pid, ..)) if pid == leader
            );
            match waited {
                Ok(WaitStatus::Exited(pid, code)) if pid == leader => {
                    changes.push(ChildStatus::Ended(ProcessExit::Code(code)));
                }
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == leader => {
                    changes.push(ChildStatus::Ended(ProcessExit::Signal(signal as i32)));
                }
                Ok(WaitStatus::Stopped(pid, signal)) if pid == leader => {
                    changes.push(ChildStatus::Stopped(signal as i32));
                }
                Ok(WaitStatus::StillAlive) => return changes,
                Err(Errno::ECHILD) => {
                    self.childless = true;
                    return changes;
                }
                Ok(_) | Err(_) => {}
            }
        }
    }

    /// Whether nothing of the family lives, for certain, after [`collect`](Self::collect).
    pub(super) fn is_gone(&mut self) -> bool {
        self.group_is_gone() && self.others().is_ok_and(|others| others.is_empty())
    }

    /// Once it is gone it stays so: who has its number then is somebody else.
    fn group_is_gone(&mut self) -> bool {
        self.group_is_gone |= self.leader_is_collected && self.group.is_gone();
        self.group_is_gone
    }

    fn others(&self) -> io::Result<Vec<Pid>> {
        if self.childless {
            return Ok(Vec::new());
        }
        let mut children = processes::children_in_session()?;
        children.retain(|child| *child != self.leader());
        Ok(children)
    }
}
