//! Which nodes an ask makes, and where.

use tenure_core::{
    Fault, LockName,
    proto::queue::{Kind, Mode},
    store::Reason,
};

use crate::{
    contenders::{
        encoding::node_of,
        node::{Layout, NodePrefix},
    },
    error,
};

/// Where `InterProcessSemaphoreV2` has its inner mutex, and where its permits.
pub(crate) const LOCKS: &str = "locks";
pub(crate) const LEASES: &str = "leases";

/// The directories of one lock.
#[derive(Clone, Debug)]
pub(crate) struct LockPath {
    /// The lock's own node.
    pub(crate) dir: String,
}

impl LockPath {
    pub(crate) fn new(base: &str, name: &LockName) -> Self {
        Self { dir: format!("{base}/{}", node_of(name)) }
    }

    /// Where contenders stand in line.
    pub(crate) fn queue(&self, base: NodePrefix) -> String {
        if base == NodePrefix::Lease { format!("{}/{LOCKS}", self.dir) } else { self.dir.clone() }
    }

    /// The directories of a semaphore, in the order in which one goes through them.
    pub(crate) fn of_permits(&self) -> [String; 2] {
        [self.queue(NodePrefix::Lease), self.leases()]
    }

    /// Where permits are.
    pub(crate) fn leases(&self) -> String {
        format!("{}/{LEASES}", self.dir)
    }
}

pub(crate) const NO_PERMITS: Reason = Reason {
    what: "with layout=kazoo there are no permits",
    help: "leave layout=kazoo out, at another base path",
};

pub(crate) const NO_READERS: Reason = Reason {
    what: "with layout=kazoo there are no readers: kazoo's Lock and Election do not wait for them",
    help: "if all programs with kazoo use WriteLock and ReadLock on these names, write readers=yes in the URL; else use \
           a mutex",
};

/// What is made for an ask: the layout is chosen by the kind, and by how it is held.
pub(crate) fn base_of(
    kind: Kind,
    mode: Mode,
    layout: Layout,
    semaphore_mutex: bool,
) -> Result<NodePrefix, Fault> {
    if layout == Layout::Kazoo {
        // By the mode alone: all uses of kazoo's nodes exclude each other.
        return match mode {
            Mode::Exclusive => Ok(NodePrefix::KazooLock),
            Mode::Shared => Ok(NodePrefix::KazooRead),
            Mode::Permits { .. } => Err(error::cannot(NO_PERMITS.what, NO_PERMITS.help)),
        };
    }
    match (kind, mode) {
        (_, Mode::Permits { take, of }) if take == 0 || take > of => Err(error::permits(take, of)),
        (Kind::Semaphore, Mode::Permits { .. }) => Ok(NodePrefix::Lease),
        (Kind::Mutex, Mode::Exclusive) if semaphore_mutex => Ok(NodePrefix::Lease),
        (Kind::Mutex, Mode::Exclusive) => Ok(NodePrefix::Lock),
        (Kind::Election, Mode::Exclusive) => Ok(NodePrefix::Latch),
        (Kind::ReadWrite, Mode::Exclusive) => Ok(NodePrefix::Write),
        (Kind::ReadWrite, Mode::Shared) => Ok(NodePrefix::Read),
        _ => Err(error::cannot(
            "ZooKeeper does not support this kind of lock in this mode",
            "share a read-write lock, take permits of a semaphore, or use another store",
        )),
    }
}

/// How many permits are taken, and of how many.
pub(crate) const fn permits(mode: Mode) -> (u32, u32) {
    match mode {
        Mode::Permits { take, of } => (take, of),
        Mode::Exclusive | Mode::Shared => (1, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_the_layout_of_a_recipe() {
        let of = |kind, mode| base_of(kind, mode, Layout::Curator, false).ok();
        let two = Mode::Permits { take: 1, of: 2 };
        assert_eq!(of(Kind::Mutex, Mode::Exclusive), Some(NodePrefix::Lock));
        assert_eq!(of(Kind::Election, Mode::Exclusive), Some(NodePrefix::Latch));
        assert_eq!(of(Kind::ReadWrite, Mode::Exclusive), Some(NodePrefix::Write));
        assert_eq!(of(Kind::ReadWrite, Mode::Shared), Some(NodePrefix::Read));
        assert_eq!(of(Kind::Semaphore, two), Some(NodePrefix::Lease));
        assert_eq!(of(Kind::Latch, Mode::Shared), None);
        assert_eq!(of(Kind::Mutex, two), None);
        assert_eq!(of(Kind::Semaphore, Mode::Permits { take: 3, of: 2 }), None);
        let semaphore_mutex = base_of(Kind::Mutex, Mode::Exclusive, Layout::Curator, true);
        assert_eq!(semaphore_mutex.ok(), Some(NodePrefix::Lease));
        let kazoo = |kind, mode| base_of(kind, mode, Layout::Kazoo, false).ok();
        for kind in [Kind::Mutex, Kind::Election, Kind::ReadWrite] {
            assert_eq!(kazoo(kind, Mode::Exclusive), Some(NodePrefix::KazooLock));
        }
        assert_eq!(kazoo(Kind::ReadWrite, Mode::Shared), Some(NodePrefix::KazooRead));
        assert_eq!(kazoo(Kind::Semaphore, two), None);
        let place = LockPath::new("/tenure", &LockName::new("a/b").unwrap());
        assert_eq!(place.queue(NodePrefix::Lock), "/tenure/a%2Fb");
        assert_eq!(place.queue(NodePrefix::Lease), "/tenure/a%2Fb/locks");
        assert_eq!(place.leases(), "/tenure/a%2Fb/leases");
    }
}
