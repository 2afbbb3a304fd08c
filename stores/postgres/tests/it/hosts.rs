//! Several hosts, of which one is frozen: it accepts connections, and says nothing.

use std::time::Duration;

use tenure_core::FaultKind;
use tenure_postgres::PostgresStore;
use tokio::{net::TcpListener, time::Instant};

use crate::support::{fresh_database, hold, tenure};

/// The port of a host that is silent as long as this is kept.
async fn silent() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

#[tokio::test]
async fn a_host_that_is_silent_leaves_time_for_the_next() {
    let url = fresh_database().await;
    let ((_one, one), (_other, other)) = (silent().await, silent().await);
    let several = url.replacen('@', &format!("@127.0.0.1:{one},127.0.0.1:{other},"), 1);
    let url = format!("{several}?connect_timeout=2s");
    let tenure = tenure(&url);
    hold(&tenure, "lock", Duration::from_secs(60)).await.release().await.unwrap();
    drop(PostgresStore::open(&url).await.unwrap());
    // It need not be the first.
    let (_last, last) = silent().await;
    let url = several.replacen("/own", &format!(",127.0.0.1:{last}/own"), 1);
    drop(PostgresStore::open(&format!("{url}?connect_timeout=2s")).await.unwrap());
}

#[tokio::test]
async fn hosts_that_are_all_silent_are_given_up_within_the_time_that_was_given() {
    let ((_one, one), (_other, other)) = (silent().await, silent().await);
    let url = format!("postgres://me@127.0.0.1:{one},127.0.0.1:{other}/any?connect_timeout=1s");
    let began = Instant::now();
    let fault = PostgresStore::open(&url).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unreachable, "{fault:#}");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    for host in [one, other] {
        assert!(fault.message().contains(&host.to_string()), "it names the host: {fault:#}");
    }
}
