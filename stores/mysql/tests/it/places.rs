//! Places for the suites: tables of their own each.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use tenure_core::Store;
use tenure_mysql::MysqlStore;
use tenure_servers::MariadbServer;
use tenure_testkit::conformance::Adapter;

/// Tables that nobody else has.
#[derive(Debug)]
pub(crate) struct Place {
    url: String,
}

/// It lives as long as the tests of this process.
static SERVER: OnceLock<MariadbServer> = OnceLock::new();

impl Place {
    pub(crate) fn fresh() -> Self {
        let bounds = "claim_window=2s&position_ttl=8s&max_waiters=20&max_holders=20&connections=2";
        Self { url: format!("{}&{bounds}", fresh_url()) }
    }
}

/// The server that most tests share: those that change nothing of it.
pub(crate) fn server() -> &'static MariadbServer {
    SERVER.get_or_init(MariadbServer::start)
}

/// A URL with tables that nobody else has.
pub(crate) fn fresh_url() -> String {
    static PLACES: AtomicU64 = AtomicU64::new(0);
    let place = PLACES.fetch_add(1, Ordering::Relaxed);
    format!("{}?tables=place_{place}", server().url())
}

#[async_trait]
impl Adapter for Place {
    async fn open(&self) -> Arc<dyn Store> {
        // As programs do: a short lease has no time for a first connection and its tables.
        Arc::new(MysqlStore::open(&self.url).await.unwrap())
    }
}
