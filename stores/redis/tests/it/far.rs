//! A server that is far away.

use std::time::Duration;

use tenure_servers::{Distance, RedisServer, redis::Reply};

use crate::support::{hold, renewed, tenure};

/// For so long a line.
const PATIENT: &str = "?connect_timeout=30s&response_timeout=30s";

fn text(reply: Reply) -> String {
    let Reply::Text(text) = reply else { panic!("{reply:?}") };
    text
}

/// The numbers of tenure's connections.
fn connections(server: &RedisServer) -> Vec<String> {
    let clients = text(server.command(&["CLIENT", "LIST"]));
    let ours = clients.lines().filter(|client| client.contains("name=tenure"));
    ours.map(|client| client.split(' ').next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_hold_is_renewed_over_one_connection() {
    let server = RedisServer::start();
    let far = Distance::to(server.address(), Duration::from_secs(1));
    let tenure = tenure(&format!("redis://{}{PATIENT}", far.address()));
    let held = hold(&tenure, "far", Duration::from_secs(10)).await;
    renewed(&held).await;
    let before = connections(&server);
    renewed(&held).await;
    renewed(&held).await;
    assert_eq!(connections(&server), before);
    held.check().unwrap();
}

#[tokio::test]
async fn a_connection_is_opened_though_that_takes_longer_than_a_renewal_has_time() {
    let server = RedisServer::start();
    let far = Distance::to(server.address(), Duration::ZERO);
    let tenure = tenure(&format!("redis://{}{PATIENT}", far.address()));
    // Renewed after a third of it, by calls that each take a quarter at most.
    let held = hold(&tenure, "far", Duration::from_secs(20)).await;
    renewed(&held).await;
    far.set(Duration::from_millis(2_700));
    server.command(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    renewed(&held).await;
    held.check().unwrap();
}
