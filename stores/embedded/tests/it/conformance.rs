//! The suite that every store passes, on real files and a clock that moves by hand.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tenure_core::Store;
use tenure_embedded::EmbeddedStore;
use tenure_testkit::conformance::Adapter;

use crate::support::TestMachine;

/// A directory of its own for each case.
#[derive(Debug)]
struct Directory {
    dir: tempfile::TempDir,
    machine: TestMachine,
}

impl Directory {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), machine: TestMachine::default() }
    }
}

#[async_trait]
impl Adapter for Directory {
    async fn open(&self) -> Arc<dyn Store> {
        let machine = Arc::new(self.machine.clone());
        Arc::new(EmbeddedStore::open_on(self.dir.path(), machine).unwrap())
    }

    async fn pass(&self, length: Duration) {
        self.machine.clock.advance(length);
        // Hints go through the kernel, in real time.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    async fn lose_data(&self) -> bool {
        self.machine.reboot(self.dir.path());
        true
    }

    async fn kill(&self, client: Arc<dyn Store>) -> bool {
        // The kernel does the same for a killed process: it closes its files.
        drop(client);
        true
    }
}

tenure_testkit::conformance!(Directory::new());
