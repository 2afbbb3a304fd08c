//! A server, and a path on it that a test has for itself.

use std::{
    env,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tenure_core::{Store, Tenure, proto::queue::Snapshot};
use tenure_servers::ZookeeperServer;
use tenure_zookeeper::{ZookeeperOptions, ZookeeperStore};

use crate::support::{name, quiet_server, until};

use super::{
    program::{Curator, Peer},
    raw::Raw,
};

/// How long sessions are, unless said otherwise.
pub(super) const SESSION: Duration = Duration::from_secs(4);

/// A base path that nobody else has, on a server that goes on for as long as the tests of this process.
#[derive(Debug)]
pub(super) struct Scene {
    servers: String,
    base: String,
    session: Duration,
}

impl Scene {
    pub(super) fn new() -> Self {
        Self::on(quiet_server())
    }

    pub(super) fn on(server: &ZookeeperServer) -> Self {
        Self::at(&server.address().to_string())
    }

    /// At this place, which may be a proxy.
    pub(super) fn at(servers: &str) -> Self {
        static SCENES: AtomicU64 = AtomicU64::new(0);
        let base = format!("/scene-{}", SCENES.fetch_add(1, Ordering::Relaxed));
        Self { servers: servers.to_owned(), base, session: SESSION }
    }

    /// The same path by another way.
    pub(super) fn by(&self, servers: &str) -> Self {
        Self { servers: servers.to_owned(), base: self.base.clone(), session: self.session }
    }

    /// With sessions of this length.
    pub(super) const fn with_session(mut self, session: Duration) -> Self {
        self.session = session;
        self
    }

    pub(super) fn url(&self) -> String {
        self.url_with("")
    }

    /// With more settings, each with a `&` in front.
    pub(super) fn url_with(&self, more: &str) -> String {
        let Self { servers, base, session } = self;
        let session = session.as_millis();
        format!("zookeeper://{servers}{base}?session={session}ms&tick=500ms{more}")
    }

    pub(super) fn tenure(&self) -> Tenure {
        tenure(&self.url())
    }

    /// The path of a lock, as Curator's users write it.
    pub(super) fn path(&self, lock: &str) -> String {
        format!("{}/{lock}", self.base)
    }

    /// A JVM that runs a command of the program.
    pub(super) fn peer(&self, curator: Curator, command: &[&str]) -> Peer {
        Peer::start(curator, &self.servers, self.session, command)
    }

    /// A JVM that holds, or waits to hold, one recipe.
    pub(super) fn hold(&self, curator: Curator, recipe: &str, lock: &str) -> Peer {
        self.peer(curator, &["hold", recipe, &self.path(lock)])
    }

    pub(super) async fn raw(&self) -> Raw {
        Raw::connect(&self.servers).await
    }
}

pub(super) fn tenure(url: &str) -> Tenure {
    let options = ZookeeperOptions::from_url(url).unwrap();
    // A machine that does much at once answers late.
    let options = options.response_timeout(Duration::from_secs(5)).unwrap();
    Tenure::new(Arc::new(ZookeeperStore::new(options).unwrap()))
}

pub(super) async fn inspected(store: &dyn Store, lock: &str) -> Snapshot {
    store.inspect(&name(lock)).await.unwrap()
}

/// Waits until so many hold a name, and so many wait for it.
pub(super) async fn until_there_are(tenure: &Tenure, lock: &str, holders: usize, waiters: usize) {
    until(&format!("{holders} hold {lock} and {waiters} wait"), async || {
        let seen = inspected(&**tenure.store(), lock).await;
        (seen.holders.len(), seen.waiters.len()) == (holders, waiters)
    })
    .await;
}

/// Waits until so many watch a node: who has looked and decided to wait does.
pub(super) async fn until_watched(server: &ZookeeperServer, node: &str, watchers: usize) {
    until(&format!("{watchers} watch {node}"), async || {
        let told = server.four_letters("wchp");
        let of_node = told.lines().skip_while(|line| line.trim() != node).skip(1);
        of_node.take_while(|line| line.trim().starts_with("0x")).count() >= watchers
    })
    .await;
}

/// How long a test goes on that does so by time: `TENURE_SOAK_SECONDS`, or this.
pub(super) fn length(unless_told: u64) -> Duration {
    Duration::from_secs(soak().unwrap_or(unless_told))
}

/// How often something is done: this often, and ten times as often when soaking.
pub(super) fn turns(often: u32) -> u32 {
    if soak().is_some() { often * 10 } else { often }
}

fn soak() -> Option<u64> {
    env::var("TENURE_SOAK_SECONDS").ok().and_then(|text| text.parse().ok())
}
