//! What a dead guardian leaves: on Linux its children have become those of this process.

use nix::{
    sys::{
        signal::{Signal, kill},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::{Pid, getpgid, getpgrp},
};

use super::{group::ProcessGroup, processes};

/// The children of this process in its session, and all that is in their groups.
#[derive(Debug, Default)]
pub(crate) struct RemainingProcesses {
    groups: Vec<ProcessGroup>,
    /// A child that does the same work, and goes when it is done.
    helper: Option<Pid>,
}

impl RemainingProcesses {
    /// Also those in `group`, where that is known; and those of `helper`, which is left to see to
    /// them. What it leaves when it dies becomes this process's own.
    pub(crate) fn with_group(group: Option<ProcessGroup>, helper: Option<Pid>) -> Self {
        Self { groups: group.into_iter().collect(), helper }
    }

    /// Whether there is a helper and it stands still.
    pub(crate) fn helper_is_stopped(&self) -> bool {
        self.helper.is_some_and(processes::is_stopped)
    }

    /// Expects no help any more: the helper goes like the others. Says whether there was one.
    pub(crate) fn abandon_helper(&mut self) -> bool {
        self.helper.take().is_some()
    }

    /// Kills what is there and collects the dead. Says whether nothing is left: children of the
    /// killed turn up when they are gone.
    pub(crate) fn kill_and_reap(&mut self) -> bool {
        // Where the list cannot be read, the known group is all that can be killed, and others may
        // live.
        let children = processes::children_in_session();
        let helper = self.helper;
        for child in children.iter().flatten().filter(|child| Some(**child) != helper) {
            // The dead still tell their group, so they are collected last.
            match getpgid(Some(*child)) {
                Ok(group) if group != getpgrp() => self.note(ProcessGroup::led_by(group.as_raw())),
                Ok(_) | Err(_) => {}
            }
            // It cannot be somebody else's: only this process collects its children.
            let _ = kill(*child, Signal::SIGKILL);
        }
        for group in &self.groups {
            group.signal(Signal::SIGKILL);
        }
        reap_children();
        self.groups.retain(|group| !group.is_gone());
        children.is_ok_and(|some| some.is_empty()) && self.groups.is_empty()
    }

    fn note(&mut self, group: ProcessGroup) {
        if !self.groups.contains(&group) {
            self.groups.push(group);
        }
    }
}

/// Collects the dead among the children of this process.
pub(crate) fn reap_children() {
    while let Ok(status) = waitpid(None, Some(WaitPidFlag::WNOHANG)) {
        if status == WaitStatus::StillAlive {
            return;
        }
    }
}
