//! What the tests share.

use std::{
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use tenure_core::{
    LockName, Owner, Store,
    proto::{
        Token,
        queue::{Answer, Ask, Intent, Kind, Mode, Order},
    },
};
use tenure_quorum::{QuorumOptions, QuorumStore};
use tenure_redis::{RedisOptions, RedisStore};
use tenure_servers::RedisServer;

/// How long what must come may take on a slow machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn name(text: &str) -> LockName {
    LockName::new(text).unwrap()
}

/// An exclusive ask of the owner of this number.
pub(crate) fn ask(owner: u8, ttl: Duration) -> Ask {
    Ask {
        owner: Owner::from_bytes([owner; 16]),
        kind: Kind::Mutex,
        mode: Mode::Exclusive,
        order: Order::Barging,
        intent: Intent::Try,
        ttl,
        label: format!("owner {owner}").into(),
    }
}

/// The token, if it was granted.
pub(crate) fn token(answer: &Answer) -> Option<Token> {
    match answer {
        Answer::Granted { token, .. } => Some(*token),
        Answer::Busy { .. } => None,
    }
}

/// Servers that keep what they said when they are killed, or not.
pub(crate) fn servers(count: usize) -> Vec<RedisServer> {
    (0..count).map(|_| RedisServer::start()).collect()
}

/// These servers as the members of a quorum.
pub(crate) fn members(servers: &[RedisServer]) -> Vec<Arc<dyn Store>> {
    let member = |server: &RedisServer| {
        let options = RedisOptions::from_url(&server.url()).unwrap();
        Arc::new(RedisStore::new(options).unwrap()) as Arc<dyn Store>
    };
    servers.iter().map(member).collect()
}

/// A client of a quorum of these servers, as one more process would have.
pub(crate) async fn quorum(servers: &[RedisServer], longest: Duration) -> QuorumStore {
    quorum_of(members(servers), longest).await
}

/// The same of these members.
pub(crate) async fn quorum_of(members: Vec<Arc<dyn Store>>, longest: Duration) -> QuorumStore {
    let options = QuorumOptions::new().longest_lease(longest).unwrap();
    let options = options.member_limit(Duration::from_millis(300)).unwrap();
    QuorumStore::open(members, options).await.unwrap()
}

/// Freezes a server, or lets it go on.
pub(crate) fn signal(server: &RedisServer, signal: &str) {
    let pid = server.pid().unwrap().to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
}

/// Keys of locks: neither the clocks of tokens, nor the number of the format, nor the mark.
pub(crate) fn lock_keys(server: &RedisServer) -> Vec<String> {
    let other = |key: &String| {
        ["}clock", ":format"].iter().any(|end| key.ends_with(end)) || key.contains("tenure:quorum")
    };
    server.keys().into_iter().filter(|key| !other(key)).collect()
}

/// Waits until `condition` holds.
pub(crate) async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !condition().await {
        assert!(began.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
