//! The suite on the memory store, plain and behind an unreliable network.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tenure_core::{ManualClock, MemoryStore, Store};
use tenure_testkit::{
    Random,
    conformance::Adapter,
    fault::{Faults, Tally, Unreliable},
};

/// A memory store on a clock that moves by hand.
#[derive(Debug)]
pub(crate) struct Memory {
    clock: ManualClock,
    store: MemoryStore,
}

impl Memory {
    pub(crate) fn new() -> Self {
        let clock = ManualClock::new();
        let store = MemoryStore::with_clock(Arc::new(clock.clone()));
        Self { clock, store }
    }

    /// One that refuses a name to one kind of lock while another kind uses it.
    pub(crate) fn of_one_kind() -> Self {
        let Self { clock, store } = Self::new();
        Self { clock, store: store.kinds_apart() }
    }
}

#[async_trait]
impl Adapter for Memory {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.store.clone())
    }

    async fn pass(&self, length: Duration) {
        self.clock.advance(length);
    }

    async fn lose_data(&self) -> bool {
        self.store.forget();
        true
    }
}

/// The same behind a network. Delays are short beside the claim window, and long beside nothing.
#[derive(Debug)]
struct FarMemory {
    memory: Memory,
    network: Unreliable,
}

const FAULTS: Faults = Faults {
    refused: 50,
    request_lost: 50,
    reply_lost: 100,
    repeated: 200,
    request_late: 200,
    reply_late: 200,
    hints_lost: 300,
    delay: Duration::from_millis(8),
    patience: Duration::from_millis(10),
};

impl FarMemory {
    fn new(seed: u64) -> Self {
        let memory = Memory::new();
        let network = Unreliable::new(
            Arc::new(memory.store.clone()),
            Arc::new(memory.clock.clone()),
            FAULTS,
            Random::new(seed),
            Arc::new(Tally::default()),
        );
        Self { memory, network }
    }
}

#[async_trait]
impl Adapter for FarMemory {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.network.clone())
    }

    async fn pass(&self, length: Duration) {
        self.memory.pass(length).await;
    }

    async fn settle(&self) {
        while self.network.under_way() > 0 {
            self.memory.pass(Duration::from_millis(1)).await;
            tokio::task::yield_now().await;
        }
    }

    async fn lose_data(&self) -> bool {
        self.memory.lose_data().await
    }
}

mod near {
    use super::Memory;

    tenure_testkit::conformance!(Memory::new());
}

mod of_one_kind {
    use super::Memory;

    tenure_testkit::conformance!(Memory::of_one_kind());
}

mod far {
    use super::FarMemory;

    tenure_testkit::conformance!(FarMemory::new(1));
}

mod farther {
    use super::FarMemory;

    tenure_testkit::conformance!(FarMemory::new(2));
}
