//! A server, its clients, and the passing of time.

use std::{
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use redis::{AsyncConnectionConfig, Client, aio::MultiplexedConnection, cmd};
use tenure::{
    LockName, Tenure, TenureBuilder,
    inspect::{Kind, Mode},
    store::Store,
};
use tenure_core::{
    Owner,
    proto::queue::{Answer, Ask, Intent, Order},
};
use tenure_servers::RedisServer;

/// How often each interleaving is run.
const RUNS: usize = 100;

/// How long what must come may take on a slow machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// The length of a lease that nobody in a test waits for.
pub(crate) const LONG: u64 = 30_000;

/// The length of a lease whose end is waited for.
pub(crate) const SHORT: Duration = Duration::from_millis(500);

pub(crate) struct Scene {
    server: RedisServer,
}

/// A tenure whose process stands still between what the test makes it do: nothing is renewed.
pub(crate) struct Frozen {
    pub(crate) tenure: Tenure,
    _engine: Box<dyn Future<Output = ()>>,
}

/// Runs an interleaving many times, each with a name of its own.
pub(crate) async fn every_time(run: impl AsyncFn(&Scene, &str)) {
    let scene = Scene { server: RedisServer::start() };
    let names: Vec<_> = (0..RUNS).map(|run| format!("lock-{run}")).collect();
    join_all(names.iter().map(|name| run(&scene, name))).await;
}

/// Waits until `condition` holds.
pub(crate) async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !condition().await {
        assert!(began.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

impl Scene {
    /// A connection of its own, as another process has.
    pub(crate) async fn client(&self) -> MultiplexedConnection {
        let client = Client::open(self.server.url()).unwrap();
        // A machine that does other things answers later than the half second of its default.
        let patient = AsyncConnectionConfig::new().set_response_timeout(Some(PATIENCE));
        client.get_multiplexed_async_connection_with_config(&patient).await.unwrap()
    }

    /// The ttl of `key` is over: it ends now rather than in half a minute.
    pub(crate) async fn lease_ends(&self, redis: &mut MultiplexedConnection, key: &str) {
        let ends: bool = cmd("PEXPIRE").arg(key).arg(1).query_async(redis).await.unwrap();
        assert!(ends, "{key} has no lease that could end");
        until("the lease ends", async || {
            !cmd("EXISTS").arg(key).query_async::<bool>(redis).await.unwrap()
        })
        .await;
    }

    pub(crate) async fn tenure(&self) -> Tenure {
        Tenure::open(self.server.url()).await.unwrap()
    }

    /// One that runs no scripts.
    pub(crate) async fn without_scripts(&self) -> Tenure {
        Tenure::open(format!("{}?scripts=no", self.server.url())).await.unwrap()
    }

    /// The key of this lock.
    pub(crate) fn lock_key(&self, name: &str) -> String {
        let end = format!("}}lock:{name}");
        self.lock_keys().into_iter().find(|key| key.ends_with(&end)).unwrap()
    }

    pub(crate) async fn frozen(&self) -> Frozen {
        let builder: TenureBuilder = Tenure::builder(self.tenure().await.store().clone());
        let (tenure, engine) = builder.build_inline();
        Frozen { tenure, _engine: Box::new(engine) }
    }

    /// Names of the keys of locks.
    pub(crate) fn lock_keys(&self) -> Vec<String> {
        self.server.keys().into_iter().filter(|key| key.contains("}lock:")).collect()
    }
}

/// One acquisition at the store, by a process whose commands the test sends when it likes.
pub(crate) struct Acquisition {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) name: LockName,
    pub(crate) owner: Owner,
}

impl Acquisition {
    pub(crate) fn new(tenure: &Tenure, name: &str, owner: u8) -> Self {
        Self {
            store: tenure.store().clone(),
            name: LockName::new(name).unwrap(),
            owner: Owner::from_bytes([owner; 16]),
        }
    }

    /// Whether the store grants the lock.
    pub(crate) async fn take(&self, ttl: Duration) -> bool {
        let ask = Ask {
            owner: self.owner,
            kind: Kind::Mutex,
            mode: Mode::Exclusive,
            order: if self.store.capabilities().fifo { Order::Fifo } else { Order::Barging },
            intent: Intent::Try,
            ttl,
            label: "".into(),
        };
        matches!(self.store.acquire(&self.name, &ask).await.unwrap(), Answer::Granted { .. })
    }

    /// Asks until the store grants the lock.
    pub(crate) async fn take_when_free(&self, ttl: Duration) {
        until("the lease ends", async || self.take(ttl).await).await;
    }
}
