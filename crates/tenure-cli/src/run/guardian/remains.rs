//! What a dead guardian leaves: on Linux its children have become those of this process.

use nix::{
    sys::{
        signal::{Signal, kill},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::{getpgid, getpgrp},
};

use super::{group::Group, processes};

/// The children of this process in its session, and all that is in their groups.
#[derive(Debug, Default)]
pub(crate) struct Remains {
    groups: Vec<Group>,
}

impl Remains {
    /// Also those in `group`, where that is known.
    pub(crate) fn with(group: Option<Group>) -> Self {
        Self { groups: group.into_iter().collect() }
    }

    /// Kills what is there and collects the dead. Says whether nothing is left: children of the
    /// killed turn up when they are gone.
    pub(crate) fn end(&mut self) -> bool {
        // Where the list cannot be read, the known group is all that can be killed, and others may
        // live.
        let children = processes::children_in_session();
        for child in children.iter().flatten() {
            // The dead still tell their group, so they are collected last.
            match getpgid(Some(*child)) {
                Ok(group) if group != getpgrp() => self.note(Group::led_by(group.as_raw())),
                Ok(_) | Err(_) => {}
            }
            // It cannot be somebody else's: only this process collects its children.
            let _ = kill(*child, Signal::SIGKILL);
        }
        for group in &self.groups {
            group.signal(Signal::SIGKILL);
        }
        bury();
        self.groups.retain(|group| !group.is_gone());
        children.is_ok_and(|some| some.is_empty()) && self.groups.is_empty()
    }

    fn note(&mut self, group: Group) {
        if !self.groups.contains(&group) {
            self.groups.push(group);
        }
    }
}

/// Collects the dead among the children of this process.
pub(crate) fn bury() {
    while let Ok(status) = waitpid(None, Some(WaitPidFlag::WNOHANG)) {
        if status == WaitStatus::StillAlive {
            return;
        }
    }
}
