//! The machine that the store runs on. Tests use their own machine: one that stops in the middle of a write, or wakes
//! up after a reboot.

pub(crate) mod boot;
pub(crate) mod file_system;
pub(crate) mod lock_directory;

use std::{fmt, fs::File, io, os::unix::fs::FileExt, path::Path};

use rustix::process::{Resource, getrlimit};
use tenure_core::{Clock, Fault, SystemClock};

use crate::machine::file_system::FileSystem;

/// The machine as the store sees it.
pub trait Machine: fmt::Debug + Send + Sync + 'static {
    /// Its clocks.
    fn clock(&self) -> &dyn Clock;

    /// Returns what distinguishes this boot from every other.
    ///
    /// # Errors
    /// A fault if this cannot be determined, or if the clock of this process is not the machine's.
    fn boot_id(&self) -> Result<[u8; 16], Fault>;

    /// Returns the kind of file system of `path`.
    ///
    /// # Errors
    /// The error of the operating system.
    fn file_system(&self, path: &Path) -> io::Result<FileSystem>;

    /// Reads until `bytes` are full or the file ends, and returns how many bytes it read.
    ///
    /// # Errors
    /// The error of the operating system.
    fn read_at(&self, file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// The error of the operating system. Any part may then have been written.
    fn write_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Returns when what was written will survive a power cut.
    ///
    /// # Errors
    /// The error of the operating system.
    fn sync(&self, file: &File) -> io::Result<()>;

    /// Returns when the names in a directory will survive a power cut.
    ///
    /// # Errors
    /// The error of the operating system.
    fn sync_dir(&self, dir: &File) -> io::Result<()> {
        // Not `sync_data`: ext4 leaves out names that did not make the directory longer.
        dir.sync_all()
    }
}

/// The real machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThisMachine;

impl Machine for ThisMachine {
    fn clock(&self) -> &dyn Clock {
        &SystemClock
    }

    fn boot_id(&self) -> Result<[u8; 16], Fault> {
        boot::id()
    }

    fn file_system(&self, path: &Path) -> io::Result<FileSystem> {
        FileSystem::of(path)
    }

    fn read_at(&self, file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match file.read_at(rest, offset + done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn write_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        check_size(offset.saturating_add(bytes.len() as u64))?;
        file.write_all_at(bytes, offset)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }
}

/// Whether this process may make a file this large. The operating system kills a process that exceeds its limit.
pub(crate) fn check_size(size: u64) -> io::Result<()> {
    match getrlimit(Resource::Fsize).current {
        Some(most) if most < size => Err(io::ErrorKind::FileTooLarge.into()),
        _ => Ok(()),
    }
}
