//! Places for the suites: a schema each.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use tenure_core::Store;
use tenure_postgres::PostgresStore;
use tenure_testkit::conformance::Adapter;

use crate::support::quiet_server;

/// A schema that nobody else has.
#[derive(Debug)]
pub(crate) struct Place {
    url: String,
}

impl Place {
    pub(crate) fn fresh() -> Self {
        Self::at(&quiet_server().url(), "")
    }

    /// One in that database, with these settings, too.
    pub(crate) fn at(url: &str, settings: &str) -> Self {
        static PLACES: AtomicU64 = AtomicU64::new(0);
        let place = PLACES.fetch_add(1, Ordering::Relaxed);
        let bounds =
            "claim_window=400ms&position_ttl=2s&max_waiters=20&max_holders=20&connections=2";
        Self { url: format!("{url}?lock_schema=place_{place}&{bounds}{settings}") }
    }
}

#[async_trait]
impl Adapter for Place {
    async fn open(&self) -> Arc<dyn Store> {
        // As programs do: a short lease has no time for a first connection and its tables.
        Arc::new(PostgresStore::open(&self.url).await.unwrap())
    }
}
