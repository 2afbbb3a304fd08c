//! Every kind on the memory store.

use std::sync::Arc;

use async_trait::async_trait;
use tenure_core::{MemoryStore, Store};
use tenure_testkit::conformance::Adapter;

/// A memory store on the machine's clock.
#[derive(Debug)]
struct Memory(MemoryStore);

#[async_trait]
impl Adapter for Memory {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.0.clone())
    }
}

tenure_testkit::kinds!("memory", Memory(MemoryStore::new()));
