//! What the tests have in common.

use std::{future::IntoFuture, sync::Arc, time::Duration};

use mysql_async::{Conn, Row, prelude::Queryable};
use tenure_core::{
    Guard, LockName, Owner, Store, Tenure, Token,
    proto::queue::{Answer, Ask, Intent, Kind, Mode, Order},
};
use tenure_mysql::{MysqlOptions, MysqlStore};
use tenure_servers::MariadbServer;
use tokio::time::Instant;

/// How long what must come may take on a slow machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// So long that no lease ends by itself here.
pub(crate) const LONG: Duration = Duration::from_secs(600);

pub(crate) fn store(url: &str) -> MysqlStore {
    MysqlStore::new(MysqlOptions::from_url(url).unwrap()).unwrap()
}

/// One more process.
pub(crate) fn process(url: &str) -> Tenure {
    Tenure::builder(Arc::new(store(url))).max_holds(100_000).build()
}

/// As whoever looks at the server has it.
pub(crate) async fn outside(server: &MariadbServer) -> Conn {
    Conn::from_url(format!("{}?prefer_socket=false", server.url())).await.unwrap()
}

pub(crate) async fn run(conn: &mut Conn, statement: &str) {
    conn.query_drop(statement).await.unwrap_or_else(|error| panic!("{statement}: {error:#}"));
}

/// The numbers of all sessions of ours, other than this one.
pub(crate) async fn sessions(conn: &mut Conn) -> Vec<u64> {
    let all: Vec<Row> = conn.query("show processlist").await.unwrap();
    let own = u64::from(conn.id());
    let ids = all.iter().filter(|row| row.get::<Option<String>, _>(3).flatten().is_some());
    ids.map(|row| row.get(0).unwrap()).filter(|id| *id != own).collect()
}

pub(crate) fn name(text: &str) -> LockName {
    LockName::new(text).unwrap()
}

pub(crate) fn owner(number: u8) -> Owner {
    Owner::from_bytes([number; 16])
}

pub(crate) fn ask(owner: Owner, intent: Intent, ttl: Duration) -> Ask {
    Ask {
        owner,
        kind: Kind::Mutex,
        mode: Mode::Exclusive,
        order: Order::Fifo,
        intent,
        ttl,
        label: label(owner).into(),
    }
}

/// Has it, or panics.
pub(crate) async fn take(store: &MysqlStore, text: &str, owner: Owner) -> Token {
    match store.acquire(&name(text), &ask(owner, Intent::Try, LONG)).await.unwrap() {
        Answer::Granted { token, .. } => token,
        other @ Answer::Busy { .. } => panic!("{text} is not to be had: {other:?}"),
    }
}

/// A hold, however often it takes to get it.
pub(crate) async fn hold(tenure: &Tenure, text: &str) -> Guard {
    let began = Instant::now();
    loop {
        match tenure.mutex(text).lock().into_future().await {
            Ok(guard) => return guard,
            Err(error) => assert!(began.elapsed() < PATIENCE, "{text} is not to be had: {error:#}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until `condition` holds.
pub(crate) async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !condition().await {
        assert!(began.elapsed() < 2 * PATIENCE, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// What a look shows of who it is.
pub(crate) fn label(owner: Owner) -> String {
    format!("test {}", owner.to_hex())
}
