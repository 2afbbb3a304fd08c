//! On which file systems a store opens.
#![cfg(target_os = "linux")]

use std::{fs::File, io, path::Path, sync::Arc};

use tenure_core::{Clock, Fault, FaultKind, SystemClock};
use tenure_embedded::{EmbeddedStore, FileSystem, Machine, ThisMachine};

/// The real machine with a file system of another kind.
#[derive(Debug)]
struct On(u32);

impl Machine for On {
    fn clock(&self) -> &dyn Clock {
        &SystemClock
    }

    fn boot_id(&self) -> Result<[u8; 16], Fault> {
        ThisMachine.boot_id()
    }

    fn file_system(&self, _path: &Path) -> io::Result<FileSystem> {
        Ok(FileSystem::from_magic(self.0))
    }

    fn read_at(&self, file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        ThisMachine.read_at(file, bytes, offset)
    }

    fn write_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        ThisMachine.write_at(file, bytes, offset)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        ThisMachine.sync(file)
    }
}

#[test]
fn file_systems_whose_locks_reach_too_far_or_not_far_enough_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let inside = dir.path().join("store");
    for (magic, word) in [
        (0x6969, "nfs"),
        (0xff53_4d42, "smb"),
        (0x6573_5546, "fuse"),
        (0x0102_1997, "9p"),
        (0x0bd0_0bd0, "lustre"),
        (0x1234_5678, "0x12345678"),
    ] {
        let fault = EmbeddedStore::open_on(&inside, Arc::new(On(magic))).unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Misconfigured);
        assert!(fault.what().contains(word) && fault.cure().contains("local disk"), "{fault}");
        assert!(!inside.exists(), "nothing is left on it");
    }
    for magic in [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994] {
        EmbeddedStore::open_on(&inside, Arc::new(On(magic))).unwrap();
    }
}
