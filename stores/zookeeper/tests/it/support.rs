//! What the tests share.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tenure_core::{
    AcquireError, Clock, Guard, LockName, LostReason, Owner, SystemClock, Tenure, Timestamp,
    error::TimedOut,
    proto::queue::{Ask, Intent, Kind, Mode, Order},
};
use tenure_servers::{ZookeeperEnsemble, ZookeeperServer};
use tenure_zookeeper::{ZookeeperOptions, ZookeeperStore};
use tokio::sync::{Mutex, MutexGuard};

/// How long what must come may take on a slow machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

pub(crate) fn store(url: &str) -> ZookeeperStore {
    ZookeeperStore::new(ZookeeperOptions::from_url(url).unwrap()).unwrap()
}

pub(crate) fn tenure(url: &str) -> Tenure {
    Tenure::new(Arc::new(store(url)))
}

pub(crate) fn name(text: &str) -> LockName {
    LockName::new(text).unwrap()
}

/// A path that nobody else has.
pub(crate) fn path() -> String {
    static PATHS: AtomicU64 = AtomicU64::new(0);
    format!("/test-{}", PATHS.fetch_add(1, Ordering::Relaxed))
}

pub(crate) async fn hold(tenure: &Tenure, lock: &str) -> Guard {
    tenure.mutex(lock).lock().wait(PATIENCE).await.unwrap()
}

/// Asks for a mutex, for a minute.
pub(crate) fn ask(owner: u8, intent: Intent) -> Ask {
    Ask {
        owner: Owner::from_bytes([owner; 16]),
        kind: Kind::Mutex,
        mode: Mode::Exclusive,
        order: Order::Fifo,
        intent,
        ttl: Duration::from_secs(60),
        label: "".into(),
    }
}

/// The clock that deadlines are on, of all processes of this machine.
pub(crate) fn now() -> Timestamp {
    SystemClock.now()
}

/// From the one to the other in milliseconds; negative if that was before it.
pub(crate) fn millis(from: Timestamp, to: Timestamp) -> i128 {
    (i128::from(to.as_nanos()) - i128::from(from.as_nanos())) / 1_000_000
}

/// Waits until `condition` holds.
pub(crate) async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !condition().await {
        assert!(began.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The error of a wait that ends while the lock is held. A wait that ends in the midst of a request is repeated: it
/// leaves in doubt whether the lock was acquired.
pub(crate) async fn times_out(mut wait: impl AsyncFnMut() -> AcquireError) -> TimedOut {
    let began = Instant::now();
    loop {
        match wait().await {
            AcquireError::TimedOut(told) => return *told,
            error => assert!(error.is_transient() && began.elapsed() < PATIENCE, "{error:#}"),
        }
    }
}

/// Waits until the guard says that it is lost, and why.
pub(crate) async fn lost(guard: &Guard) -> LostReason {
    let lost = tokio::time::timeout(PATIENCE, guard.lost()).await;
    assert!(guard.check().is_err());
    lost.unwrap().reason
}

/// Waits until the guard was renewed since now.
pub(crate) async fn renewed(guard: &Guard) {
    let before = guard.deadline();
    until("it is renewed", async || guard.deadline() > before).await;
    guard.check().unwrap();
}

/// How many wait for a name.
pub(crate) async fn waiting(tenure: &Tenure, lock: &str) -> usize {
    tenure.store().inspect(&name(lock)).await.map_or(0, |seen| seen.waiters.len())
}

/// A server that lives as long as the tests of this process, and that nobody hurts.
pub(crate) fn quiet_server() -> &'static ZookeeperServer {
    static QUIET: OnceLock<ZookeeperServer> = OnceLock::new();
    QUIET.get_or_init(ZookeeperServer::start)
}

/// An ensemble of three of one's own, and in order, until it is given back. There are two.
pub(crate) async fn ensemble() -> MutexGuard<'static, ZookeeperEnsemble> {
    static ENSEMBLES: [OnceLock<Mutex<ZookeeperEnsemble>>; 2] = [const { OnceLock::new() }; 2];
    let start = || Mutex::new(ZookeeperEnsemble::start());
    let [one, other] = &ENSEMBLES;
    let mut ensemble = match one.get_or_init(start).try_lock() {
        Ok(free) => free,
        Err(_) => other.get_or_init(start).lock().await,
    };
    ensemble.heal();
    for member in 0..3 {
        if ensemble.pid_of(member).is_none() {
            ensemble.restart(member);
        }
    }
    ensemble.settle();
    ensemble
}

/// The ephemeral nodes of the sessions that a server knows, by `dump`, with the session of each.
pub(crate) fn ephemerals(dump: &str) -> BTreeMap<String, String> {
    let mut session = String::new();
    let mut nodes = BTreeMap::new();
    let told = dump.split_once("Sessions with Ephemerals").map_or("", |(_, told)| told);
    for line in told.lines() {
        if line.starts_with("0x") {
            session = line.trim_end_matches(':').to_owned();
        } else if let Some(node) = line.strip_prefix('\t') {
            nodes.insert(node.to_owned(), session.clone());
        }
    }
    nodes
}

/// The nodes under a path that end with their session.
pub(crate) fn nodes_under(server: &ZookeeperServer, path: &str) -> Vec<String> {
    let nodes = ephemerals(&server.four_letters("dump")).into_keys();
    nodes.filter(|node| node.starts_with(&format!("{path}/"))).collect()
}
