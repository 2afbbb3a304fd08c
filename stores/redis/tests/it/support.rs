//! What the tests share.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use tenure_core::{
    AcquireError, Guard, LockName, LostReason, Owner, Tenure,
    error::TimedOut,
    proto::queue::{Ask, Intent, Kind, Mode, Order},
};
use tenure_redis::{RedisOptions, RedisStore};
use tenure_servers::{RedisServer, redis::Reply};

/// How long what must come may take on a slow machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn tenure(url: &str) -> Tenure {
    Tenure::new(Arc::new(store(url)))
}

pub(crate) fn store(url: &str) -> RedisStore {
    RedisStore::new(RedisOptions::from_url(url).unwrap()).unwrap()
}

pub(crate) fn name(text: &str) -> LockName {
    LockName::new(text).unwrap()
}

/// Takes `lock` for a short lease.
pub(crate) async fn hold(tenure: &Tenure, lock: &str, ttl: Duration) -> Guard {
    tenure.mutex(lock).lock().ttl(ttl).wait(PATIENCE).await.unwrap()
}

/// Asks once for a mutex, for a minute.
pub(crate) fn tries(owner: u8) -> Ask {
    Ask {
        owner: Owner::from_bytes([owner; 16]),
        kind: Kind::Mutex,
        mode: Mode::Exclusive,
        order: Order::Fifo,
        intent: Intent::Try,
        ttl: Duration::from_secs(60),
        label: "".into(),
    }
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

/// Waits until the hold is renewed.
pub(crate) async fn renewed(guard: &Guard) {
    let before = guard.deadline();
    until("it is renewed", async || guard.deadline() > before).await;
}

/// Waits until the guard says that it is lost, and why; its deadline has to be kept.
pub(crate) async fn lost(guard: &Guard) -> LostReason {
    let lost = tokio::time::timeout(PATIENCE, guard.lost()).await;
    assert!(guard.check().is_err());
    lost.unwrap().reason
}

/// The time of day, as the servers of this machine have it too.
pub(crate) fn micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_micros()).unwrap()
}

/// Keys of locks: neither the clocks of tokens, nor the number of the format, nor what is confirmed, nor the records of
/// slots, nor histories.
pub(crate) fn lock_keys(server: &RedisServer) -> Vec<String> {
    let ends = ["}clock", ":format", "}format", "}mark"];
    let beside = ["}slots:", "}history:"];
    let other = |key: &String| {
        ends.iter().any(|end| key.ends_with(end)) || beside.iter().any(|kind| key.contains(kind))
    };
    server.keys().into_iter().filter(|key| !other(key)).collect()
}

/// How many scripts the server was asked to run.
pub(crate) fn scripts(server: &RedisServer) -> u64 {
    let Reply::Text(told) = server.command(&["INFO", "commandstats"]) else { panic!() };
    let line = told.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
    line.map_or(0, |line| line.split(',').next().unwrap().parse().unwrap())
}

/// How many wait for a name.
pub(crate) async fn waiting(tenure: &Tenure, lock: &str) -> usize {
    tenure.store().inspect(&name(lock)).await.unwrap().waiters.len()
}

/// A server in cluster mode that has all slots.
pub(crate) async fn cluster() -> RedisServer {
    let server = RedisServer::with(&["--cluster-enabled", "yes", "--save", ""]);
    server.command(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
    until("the cluster is up", async || {
        matches!(server.command(&["CLUSTER", "INFO"]), Reply::Text(text)
            if text.contains("cluster_state:ok"))
    })
    .await;
    server
}
