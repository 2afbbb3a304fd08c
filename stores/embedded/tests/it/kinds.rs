//! Every kind, on real files and the machine's clock.

use std::sync::Arc;

use async_trait::async_trait;
use tenure_core::Store;
use tenure_testkit::conformance::Adapter;

use crate::support::open;

/// A directory of its own for each case.
#[derive(Debug)]
struct Directory(tempfile::TempDir);

#[async_trait]
impl Adapter for Directory {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(open(&self.0))
    }
}

tenure_testkit::kinds!("embedded", Directory(tempfile::tempdir().unwrap()));
