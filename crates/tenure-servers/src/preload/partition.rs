//! A network that can be parted, for processes of a test.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::library;

/// What takes the place of the system's.
const SOURCE: &str = include_str!("partition.c");

/// The network of one process, or of several that are always on the same side. Its connections to what it is
/// parted from break, and it makes no new ones.
#[derive(Clone, Debug)]
pub(crate) struct Partition {
    library: PathBuf,
    file: PathBuf,
}

impl Partition {
    /// One that reaches everything; `folder` keeps what that takes.
    ///
    /// # Panics
    /// Without a C compiler.
    pub(crate) fn new(folder: &Path, name: &str) -> Self {
        Self { library: library(folder, "partition", SOURCE), file: folder.join(name) }
    }

    /// Has `command` use it.
    pub(crate) fn join(&self, command: &mut Command) {
        command.env("LD_PRELOAD", &self.library).env("TENURE_APART", &self.file);
    }

    /// From now on none of these ports is reached.
    ///
    /// # Panics
    /// When that cannot be written.
    pub(crate) fn part_from(&self, ports: impl IntoIterator<Item = u16>) {
        let ports: Vec<_> = ports.into_iter().map(|port| port.to_string()).collect();
        let new = self.file.with_extension("new");
        // All of it or nothing is read.
        let written = fs::write(&new, ports.join("\n")).and_then(|()| fs::rename(new, &self.file));
        assert!(written.is_ok(), "cannot write {}", self.file.display());
    }
}
