//! Who may use the store: the mode of its directory says so, and all below follows it.

use std::{fs::Metadata, os::unix::fs::MetadataExt};

/// The permissions of everything in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilePermissions {
    mode: u32,
    uid: u32,
    gid: u32,
}

impl FilePermissions {
    /// The mode of a store's directory that tenure creates itself: its owner alone.
    pub(crate) const PRIVATE_DIR: u32 = 0o700;

    /// What the directory of a store says. Only who may write there takes part; a right to read
    /// alone is not passed on, since the files hold what proves a lock one's own.
    pub(crate) fn of(root: &Metadata) -> Self {
        let mode = root.mode();
        let group = if mode & 0o020 == 0 { 0 } else { 0o070 };
        let others = if mode & 0o002 == 0 { 0 } else { 0o007 };
        // The group of a set-group-id directory is handed down; a sticky bit is not, since any
        // process removes what any other one left.
        Self { mode: (mode & 0o2000) | 0o700 | group | others, uid: root.uid(), gid: root.gid() }
    }

    pub(crate) const fn dir_mode(self) -> u32 {
        self.mode
    }

    pub(crate) const fn file_mode(self) -> u32 {
        self.mode & 0o666
    }

    /// Whether others than the owner take part.
    pub(crate) const fn is_shared(self) -> bool {
        self.mode & 0o077 != 0
    }

    /// Whether everybody on the machine takes part.
    pub(crate) const fn is_open_to_all(self) -> bool {
        self.mode & 0o007 != 0
    }

    pub(crate) const fn uid(self) -> u32 {
        self.uid
    }

    pub(crate) const fn gid(self) -> u32 {
        self.gid
    }
}
