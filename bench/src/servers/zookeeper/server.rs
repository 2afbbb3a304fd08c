//! A ZooKeeper server for the figures, which waits for its disk.

use std::path::Path;

use tenure_servers::ZookeeperServer;

use crate::{failure::Failure, figures, process::cpu};

/// All compilers of the JVM are left on, so that it becomes as quick as one in use.
const JAVA: [&str; 3] = ["-Xmx1g", "-XX:-UseSerialGC", "-XX:TieredStopAtLevel=4"];

/// What is said of its settings is what a figure depends on.
const SETTINGS: [(&str, &str); 3] =
    [("tickTime", "2000"), ("forceSync", "yes"), ("extendedTypesEnabled", "false")];

/// A server that ends with this value.
#[derive(Debug)]
pub(crate) struct Server(ZookeeperServer);

impl Server {
    /// Its version, and how it was set up.
    pub(super) fn told(&self) -> Result<String, Failure> {
        let told = self.0.four_letters("srvr");
        let version = told.lines().find_map(|line| line.strip_prefix("Zookeeper version: "));
        let version = version.and_then(|version| version.split([' ', '-', ',']).next());
        let [tick, sync, ..] = SETTINGS.map(|(name, value)| format!("{name}={value}"));
        let [heap, ..] = JAVA;
        let version = version.unwrap_or("of an unknown version");
        Ok(format!("one ZooKeeper {version}, {tick}, {sync}, java {heap}"))
    }

    pub(super) fn hosts(&self) -> String {
        self.0.address().to_string()
    }

    /// How many requests it has received so far, without those that asked for it.
    fn received(&self) -> Result<f64, Failure> {
        let told = self.0.four_letters("mntr");
        let line = told.lines().find_map(|line| line.strip_prefix("zk_packets_received"));
        Ok(line.ok_or("the server does not tell what it received")?.trim().parse()?)
    }
}

impl figures::Server for Server {
    const NAME: &'static str = "ZooKeeper";
    const CALLS: &'static str = "requests";

    fn start(dir: &Path) -> Result<Self, Failure> {
        Ok(Self(ZookeeperServer::try_start_in(dir, &SETTINGS, &JAVA)?))
    }

    fn url(&self) -> String {
        format!("zookeeper://{}?session={}s", self.hosts(), super::SESSION.as_secs())
    }

    fn cpu(&self) -> f64 {
        self.0.pid().map_or(f64::NAN, cpu::of)
    }

    fn calls_during<T>(
        &self,
        during: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<(T, f64), Failure> {
        let before = self.received()?;
        let done = during()?;
        // The question itself is counted once.
        Ok((done, self.received()? - before - 1.0))
    }
}
