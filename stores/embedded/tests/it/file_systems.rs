//! On which file systems a store opens.
#![cfg(target_os = "linux")]

use std::{fs::File, io, path::Path, sync::Arc};

use tenure_core::{
    Clock, Fault, FaultKind, Store, SystemClock,
    store::{Diagnostic, Severity},
};
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
        assert!(fault.message().contains(word) && fault.help().contains("local disk"), "{fault:#}");
        assert!(!inside.exists(), "nothing is left on it");
    }
    for magic in [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994] {
        EmbeddedStore::open_on(&inside, Arc::new(On(magic))).unwrap();
    }
}

/// What a look says of a store on such a file system.
async fn looked(magic: u32, what: &str) -> Diagnostic {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open_on(dir.path(), Arc::new(On(magic))).unwrap();
    let found = store.health().await.unwrap();
    found.into_iter().find(|diagnostic| diagnostic.what == what).unwrap()
}

#[tokio::test]
async fn nothing_is_said_to_be_on_a_disk_that_is_not() {
    let (disk, memory) = (0xef53, 0x0102_1994);
    assert!(looked(disk, "tokens").await.found.contains("on the disk"));
    assert_eq!(looked(disk, "file system").await.severity, Severity::Good);
    let tokens = looked(memory, "tokens").await;
    assert!(tokens.found.contains("until the next reboot"), "{tokens:?}");
    assert_eq!(looked(memory, "file system").await.promise, Some("S2"));
}

/// Two containers of one image would each have its own.
#[tokio::test]
async fn a_layer_that_a_container_has_for_itself_is_warned_of() {
    let layer = looked(0x794c_7630, "file system").await;
    assert_eq!((layer.severity, layer.promise), (Severity::Warning, Some("S1")), "{layer:?}");
}
