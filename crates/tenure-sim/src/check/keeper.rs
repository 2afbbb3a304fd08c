//! What the checker compares the holders' belief with.

use std::fmt;

use async_trait::async_trait;
use tenure_core::{LockName, MemoryStore, Store, proto::queue::Snapshot};

/// What really keeps the leases of a run, beside what its processes hear of it.
#[async_trait]
pub trait StoreOracle: fmt::Debug + Send + Sync {
    /// Who holds a name at this moment, with the token that each was told, and with what is left of
    /// each lease in true time.
    async fn kept(&self, name: &LockName) -> Snapshot;

    /// Whether no two holders of a name have the same token.
    fn tells_readers_apart(&self) -> bool {
        true
    }

    /// The time in the greatest token that it has given out, zero if it cannot say.
    fn last_token_time(&self) -> u64 {
        0
    }
}

/// A store that runs on true time.
#[async_trait]
impl StoreOracle for MemoryStore {
    async fn kept(&self, name: &LockName) -> Snapshot {
        self.inspect(name).await.unwrap_or_default()
    }

    fn last_token_time(&self) -> u64 {
        Self::last_token_time(self)
    }
}
