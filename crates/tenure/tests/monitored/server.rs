//! The servers that suffer.

use std::time::Duration;

use tempfile::TempDir;
use tenure_servers::{MariadbServer, PostgresServer, RedisServer, ZookeeperServer};

pub(crate) trait Server {
    /// Long enough for a server that is started again, and for a machine that does other things.
    const TTL: Duration = Duration::from_secs(2);
    /// Whether it can be killed and frozen.
    const IS_A_SERVER: bool = true;

    fn url(&self) -> String;
    fn kill(&mut self);
    fn restart(&mut self);
    /// Waits for `wait` while it answers nothing.
    async fn frozen<T>(&self, wait: impl Future<Output = T>) -> T;
}

/// What the server itself calls so.
macro_rules! as_its_own {
    () => {
        fn url(&self) -> String {
            Self::url(self)
        }

        fn kill(&mut self) {
            Self::kill(self);
        }

        fn restart(&mut self) {
            Self::restart(self);
        }
    };
}

impl Server for RedisServer {
    as_its_own!();

    async fn frozen<T>(&self, wait: impl Future<Output = T>) -> T {
        let _frozen = self.freeze();
        wait.await
    }
}

impl Server for PostgresServer {
    as_its_own!();

    async fn frozen<T>(&self, wait: impl Future<Output = T>) -> T {
        let _frozen = self.freeze();
        wait.await
    }
}

impl Server for MariadbServer {
    /// A holder learns at its next renewal that its lock was taken, which has to come before it is at risk.
    const TTL: Duration = Duration::from_secs(6);

    as_its_own!();

    async fn frozen<T>(&self, wait: impl Future<Output = T>) -> T {
        self.freeze();
        let waited = wait.await;
        self.go_on();
        waited
    }
}

impl Server for ZookeeperServer {
    /// Its shortest session takes four seconds.
    const TTL: Duration = Duration::from_secs(6);

    as_its_own!();

    async fn frozen<T>(&self, wait: impl Future<Output = T>) -> T {
        let _frozen = self.freeze();
        wait.await
    }
}

/// Three servers, of which two suffer: without them there is no majority.
pub(crate) struct Quorum([RedisServer; 3]);

impl Quorum {
    pub(crate) fn new() -> Self {
        // What it confirmed it still knows when it is started again.
        let keeps = ["--save", "", "--appendonly", "yes", "--appendfsync", "always"];
        Self([(); 3].map(|()| RedisServer::with(&keeps)))
    }
}

impl Server for Quorum {
    const TTL: Duration = Duration::from_secs(6);

    fn url(&self) -> String {
        let servers = self.0.each_ref().map(RedisServer::url).join(",");
        format!("quorum:{servers},longest_lease={}s", Self::TTL.as_secs())
    }

    fn kill(&mut self) {
        self.0.iter_mut().skip(1).for_each(RedisServer::kill);
    }

    fn restart(&mut self) {
        self.0.iter_mut().skip(1).for_each(RedisServer::restart);
    }

    async fn frozen<T>(&self, wait: impl Future<Output = T>) -> T {
        let _frozen: Vec<_> = self.0.iter().skip(1).map(RedisServer::freeze).collect();
        wait.await
    }
}

/// A directory.
pub(crate) struct Embedded(TempDir);

impl Embedded {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
}

impl Server for Embedded {
    const IS_A_SERVER: bool = false;

    fn url(&self) -> String {
        format!("file:{}", self.0.path().join("locks").display())
    }

    fn kill(&mut self) {}

    fn restart(&mut self) {}

    async fn frozen<T>(&self, wait: impl Future<Output = T>) -> T {
        wait.await
    }
}
