//! A replica, and a failover to it.

use std::time::Duration;

use tenure_core::{AcquireError, FaultKind, Store};
use tenure_postgres::PostgresStore;
use tenure_servers::PostgresServer;

use crate::support::{hold, sql, store, tenure, until};

#[tokio::test]
async fn a_replica_grants_nothing_and_once_it_is_promoted_its_tokens_go_on_rising() {
    let mut primary = PostgresServer::with(&["shared_buffers=16MB"]);
    let first = store(&primary.url());
    // A busy machine may need longer than a call waits.
    until("it answers", async || first.incarnation().await.is_ok()).await;
    let before = first.incarnation().await.unwrap();
    let held = hold(&tenure(&primary.url()), "lock", Duration::from_secs(60)).await;
    let (token, held) = (held.token(), held);
    let replica = primary.replica();
    // It has the number of the first, and is a server of its own.
    let server = async |url: &str| store(url).server().await.unwrap().unwrap();
    assert_ne!(server(&primary.url()).await, server(&replica.url()).await);
    let database = primary.url_of("postgres");
    let by_name = primary.url().replace("127.0.0.1", "localhost");
    for same in [&database, &by_name] {
        assert_eq!(server(&primary.url()).await, server(same).await, "{same}");
    }
    let lag = "select name from tenure.locks where owner is not null";
    until("it has the row", async || sql(&replica.url(), lag).await == ["lock"]).await;

    let refused = tenure(&replica.url()).mutex("other").try_lock().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Unreachable { .. }), "{refused:#}");
    assert!(format!("{refused:#}").contains("takes no writes"), "{refused:#}");
    let fault =
        PostgresStore::open(&format!("{}?lock_schema=none", replica.url())).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unreachable, "{fault:#}");
    let seen = store(&replica.url()).health().await.unwrap();
    assert!(seen.iter().any(|diagnostic| diagnostic.what == "primary"), "{seen:?}");

    let two = format!(
        "postgres://postgres@127.0.0.1:{},127.0.0.1:{}/tenure?connect_timeout=1s",
        replica.port(),
        primary.port()
    );
    let both = tenure(&two);
    assert!(both.mutex("lock").try_lock().await.unwrap().is_none());
    let last = hold(&both, "last", Duration::from_secs(60)).await;
    let has = "select name from tenure.locks where name = 'last' and owner is not null";
    until("it has that, too", async || !sql(&replica.url(), has).await.is_empty()).await;

    primary.kill();
    replica.promote();
    until("the new primary is found", async || both.mutex("any").try_lock().await.is_ok()).await;
    assert!(both.mutex("lock").try_lock().await.unwrap().is_none(), "its holder was forgotten");
    assert!(hold(&both, "next", Duration::from_secs(5)).await.token() > last.token());
    last.release().await.unwrap();
    assert!(hold(&both, "last", Duration::from_secs(5)).await.token() > token);
    let after = store(&two).incarnation().await.unwrap();
    assert_ne!(before, after, "a failover is a new memory");
    drop(held);
}
