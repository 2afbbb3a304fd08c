//! What the tests share.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tenure_core::{
    Guard, LockName, LostReason, Owner, Tenure,
    proto::queue::{Ask, Intent, Kind, Mode, Order},
};
use tenure_postgres::{PostgresOptions, PostgresStore};
use tenure_servers::PostgresServer;
use tokio_postgres::{NoTls, SimpleQueryMessage};

/// How long what must come may take on a slow machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

pub(crate) fn store(url: &str) -> PostgresStore {
    PostgresStore::new(PostgresOptions::from_url(url).unwrap()).unwrap()
}

pub(crate) fn tenure(url: &str) -> Tenure {
    Tenure::new(Arc::new(store(url)))
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
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Waits until the guard says that it is lost, and why.
pub(crate) async fn lost(guard: &Guard) -> LostReason {
    let lost = tokio::time::timeout(PATIENCE, guard.lost()).await;
    assert!(guard.check().is_err());
    lost.unwrap().reason
}

/// How many wait for a name.
pub(crate) async fn waiting(tenure: &Tenure, lock: &str) -> usize {
    tenure.store().inspect(&name(lock)).await.map_or(0, |seen| seen.waiters.len())
}

/// It lives as long as the tests of this process, and nobody hurts it.
pub(crate) fn quiet_server() -> &'static PostgresServer {
    static QUIET: OnceLock<PostgresServer> = OnceLock::new();
    // Many tests run at the same time.
    QUIET.get_or_init(|| PostgresServer::with(&["max_connections=400", "shared_buffers=16MB"]))
}

/// The URL of a database that nobody else has.
pub(crate) async fn fresh_database() -> String {
    database_with("").await
}

/// The same, with these words in the statement that makes it.
pub(crate) async fn database_with(words: &str) -> String {
    static DATABASES: AtomicU64 = AtomicU64::new(0);
    let database = format!("own_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
    let server = quiet_server();
    sql(&server.url(), &format!("create database {database} template template0 {words}")).await;
    server.url_of(&database)
}

/// A session of one's own.
pub(crate) async fn session(url: &str) -> Result<tokio_postgres::Client, tokio_postgres::Error> {
    let url = url.split('?').next().unwrap_or_default();
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// Its major version.
pub(crate) async fn version(url: &str) -> u32 {
    let number: u32 = sql(url, "show server_version_num").await[0].parse().unwrap();
    number / 10_000
}

/// Whether it is of this version at least. If not, it says what is not shown.
pub(crate) async fn is_at_least(wanted: u32, url: &str, what: &str) -> bool {
    let version = version(url).await;
    if version < wanted {
        eprintln!("not shown on PostgreSQL {version}: {what}, which needs {wanted}");
    }
    version >= wanted
}

/// Runs statements, and gives the first column of the rows.
pub(crate) async fn sql(url: &str, statements: &str) -> Vec<String> {
    told(&session(url).await.unwrap(), statements).await.unwrap()
}

/// The same in that session.
pub(crate) async fn told(
    session: &tokio_postgres::Client,
    statements: &str,
) -> Result<Vec<String>, tokio_postgres::Error> {
    let messages = session.simple_query(statements).await?;
    let rows = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or_default().to_owned()),
        _ => None,
    });
    Ok(rows.collect())
}
