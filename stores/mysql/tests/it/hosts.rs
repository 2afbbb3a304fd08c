//! Several hosts, of which one is frozen: it accepts connections, and says nothing.

use std::time::Duration;

use tenure_core::FaultKind;
use tenure_mysql::MysqlStore;
use tokio::{net::TcpListener, time::Instant};

use crate::{
    places::fresh_url,
    support::{owner, take},
};

/// The port of a host that is silent as long as this is kept.
async fn silent() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_silent_leaves_time_for_the_next() {
    let ((_one, one), (_other, other)) = (silent().await, silent().await);
    let url = fresh_url().replacen('@', &format!("@127.0.0.1:{one},127.0.0.1:{other},"), 1);
    let store = MysqlStore::open(&format!("{url}&connect_timeout=5s")).await.unwrap();
    take(&store, "lock", owner(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_are_all_silent_are_given_up_within_the_time_that_was_given() {
    let ((_one, one), (_other, other)) = (silent().await, silent().await);
    let url = format!("mysql://me@127.0.0.1:{one},127.0.0.1:{other}/any?connect_timeout=1s");
    let began = Instant::now();
    let fault = MysqlStore::open(&url).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unreachable, "{fault:#}");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    for host in [one, other] {
        assert!(fault.message().contains(&host.to_string()), "it names the host: {fault:#}");
    }
}
