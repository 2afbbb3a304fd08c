//! What one node of a cluster is asked.

use super::{RedisServer, Reply};

/// Introduces a node to another one.
pub(super) fn meet(server: &RedisServer, other: &RedisServer) {
    let port = other.address().port().to_string();
    expect_ok(server, &["CLUSTER", "MEET", "127.0.0.1", &port, &bus(other).to_string()]);
}

pub(super) fn expect_ok(server: &RedisServer, words: &[&str]) {
    let told = server.command(words);
    assert_eq!(told, Reply::Text("OK".to_owned()), "{words:?}");
}

/// The port of a node for other nodes.
pub(super) fn bus(server: &RedisServer) -> u16 {
    number(Some(server.command(&["CONFIG", "GET", "cluster-port"]))).unwrap_or_default()
}

/// The identity of a node.
pub(super) fn id(server: &RedisServer) -> String {
    text(server.command(&["CLUSTER", "MYID"]))
}

/// Whether a node thinks that the cluster works.
pub(super) fn is_up(server: &RedisServer) -> bool {
    text(server.command(&["CLUSTER", "INFO"])).contains("cluster_state:ok")
}

/// What a node knows of each.
pub(super) fn nodes(server: &RedisServer) -> Vec<String> {
    let told = text(server.command(&["CLUSTER", "NODES"]));
    let known = told.lines().filter(|line| !line.contains("handshake"));
    known.map(str::to_owned).collect()
}

/// Whether this is a replica of that one.
pub(super) fn replicates(server: &RedisServer, of: &str) -> bool {
    nodes(server).iter().any(|line| line.contains("myself,slave") && line.contains(of))
}

/// A text, or the last one of a list.
pub(super) fn text(told: Reply) -> String {
    match told {
        Reply::Text(text) => text,
        Reply::List(list) => list.into_iter().next_back().map(text).unwrap_or_default(),
        Reply::Nil | Reply::Error(_) => String::new(),
    }
}

pub(super) fn number(told: Option<Reply>) -> Option<u16> {
    told.and_then(|told| text(told).parse().ok())
}
