//! A node that has slots, and where it is.

use crate::options::HostPort;

/// Stands for no node.
pub(super) const NOBODY: u16 = u16::MAX;

/// A primary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// By what the others know it; empty while only its place is known.
    pub(crate) id: String,
    pub(crate) place: HostPort,
    /// With each change of an owner of slots it rises: the greater one counts.
    pub(crate) epoch: u64,
    /// How many replicas it has, also those that are away; more than any has where that is not known.
    pub(super) replicas: u32,
    /// How many follow it as soon as they hear of it.
    pub(super) left_behind: u32,
}

impl Node {
    /// How many replicas may have to have what it grants.
    pub(crate) fn replicas(&self) -> u32 {
        self.replicas.saturating_add(self.left_behind)
    }
}
