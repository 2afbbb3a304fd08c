//! What tenure asks of the system for a pair on an open file, and nothing else: less no lock of its kind can
//! cost.

use std::{
    fs::{File, OpenOptions},
    os::unix::fs::FileExt,
    path::Path,
};

use rustix::fs::{AtFlags, FlockOperation, StatxFlags, flock, statx};

use crate::failure::Failure;

/// What a decision reads: the page with both slots.
const PAGE: usize = 4096;
/// About what it writes into a slot, with one holder.
const WRITTEN: usize = 240;

/// A file that is locked, read, looked at, written and unlocked.
pub(crate) struct SystemCalls {
    file: File,
    decisions: u64,
}

impl SystemCalls {
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let file =
            OpenOptions::new().create(true).truncate(true).read(true).write(true).open(path)?;
        file.set_len(PAGE as u64)?;
        Ok(Self { file, decisions: 0 })
    }

    /// What an acquire asks, and a release again.
    pub(crate) fn decide(&mut self) -> Result<(), Failure> {
        flock(&self.file, FlockOperation::NonBlockingLockExclusive)?;
        self.file.read_exact_at(&mut [0; PAGE], 0)?;
        statx(&self.file, "", AtFlags::EMPTY_PATH, StatxFlags::NLINK)?;
        self.decisions += 1;
        let slot = self.decisions % 2 * (PAGE as u64 / 2);
        self.file.write_all_at(&[1; WRITTEN], slot)?;
        Ok(flock(&self.file, FlockOperation::Unlock)?)
    }
}
