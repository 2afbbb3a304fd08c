//! Places for the suites: a base path each, on one server or on an ensemble of three.

use std::{
    mem::ManuallyDrop,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tenure_core::Store;
use tenure_servers::{ZookeeperEnsemble, ZookeeperServer};
use tenure_testkit::conformance::Adapter;
use tenure_zookeeper::{ZookeeperOptions, ZookeeperStore};

/// A base path that nobody else has.
#[derive(Debug)]
pub(crate) struct Place {
    url: String,
}

/// Servers live as long as the tests of this process.
static ONE: OnceLock<ZookeeperServer> = OnceLock::new();
static THREE: OnceLock<ZookeeperEnsemble> = OnceLock::new();

/// Nothing waits for such a session's end, and a hold can be counted on for 6 s without an answer.
const LONG: &str = "8s";

impl Place {
    pub(crate) fn on_one() -> Self {
        Self::of(&ONE.get_or_init(ZookeeperServer::start).url(), "2s")
    }

    pub(crate) fn on_three() -> Self {
        Self::of(&THREE.get_or_init(ZookeeperEnsemble::start).url(), "2s")
    }

    /// On one server, with sessions that outlast a machine that stands still for a moment.
    pub(crate) fn on_one_for_long() -> Self {
        Self::of(&ONE.get_or_init(ZookeeperServer::start).url(), LONG)
    }

    /// The same on the ensemble.
    pub(crate) fn on_three_for_long() -> Self {
        Self::of(&THREE.get_or_init(ZookeeperEnsemble::start).url(), LONG)
    }

    /// On one server, with more settings, each with a `&` in front.
    pub(crate) fn on_one_with(settings: &str) -> Self {
        let place = Self::on_one();
        Self { url: format!("{}{settings}", place.url) }
    }

    fn of(url: &str, session: &str) -> Self {
        static PLACES: AtomicU64 = AtomicU64::new(0);
        let place = PLACES.fetch_add(1, Ordering::Relaxed);
        Self { url: format!("{url}/place-{place}?session={session}&tick=500ms") }
    }
}

#[async_trait]
impl Adapter for Place {
    async fn open(&self) -> Arc<dyn Store> {
        let options = ZookeeperOptions::from_url(&self.url).unwrap();
        let options = options.bounds(20, 20).response_timeout(Duration::from_secs(5)).unwrap();
        Arc::new(ZookeeperStore::new(options).unwrap())
    }

    async fn kill(&self, client: Arc<dyn Store>) -> bool {
        // Dropped, it would say goodbye, which a killed process does not. Its thread goes on, though.
        let _gone = ManuallyDrop::new(client);
        false
    }
}
