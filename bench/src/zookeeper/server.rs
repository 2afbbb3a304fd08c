//! A ZooKeeper server for the figures, which waits for its disk.

use std::path::Path;

use tenure_servers::ZookeeperServer;

use crate::{cpu, failure::Failure};

/// All compilers of the JVM are left on, so that it becomes as quick as one in use.
const JAVA: [&str; 3] = ["-Xmx1g", "-XX:-UseSerialGC", "-XX:TieredStopAtLevel=4"];

/// What is said of its settings is what a figure depends on.
const SETTINGS: [(&str, &str); 3] =
    [("tickTime", "2000"), ("forceSync", "yes"), ("extendedTypesEnabled", "false")];

/// A server that ends with this value.
#[derive(Debug)]
pub(crate) struct Server(ZookeeperServer);

impl Server {
    /// Starts one with its data below `dir`.
    pub(crate) fn start(dir: &Path) -> Result<Self, Failure> {
        Ok(Self(ZookeeperServer::try_start_in(dir, &SETTINGS, &JAVA)?))
    }

    /// Its version, and how it was set up.
    pub(super) fn settings(&self) -> Result<String, Failure> {
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

    /// Its URL for tenure.
    pub(crate) fn url(&self) -> String {
        format!("zookeeper://{}?session={}s", self.hosts(), super::SESSION.as_secs())
    }

    /// How many requests it has received so far, without those that asked for it.
    pub(super) fn received(&self) -> Result<f64, Failure> {
        let told = self.0.four_letters("mntr");
        let line = told.lines().find_map(|line| line.strip_prefix("zk_packets_received"));
        Ok(line.ok_or("the server does not tell what it received")?.trim().parse()?)
    }

    /// The same while `during` ran.
    pub(super) fn received_during<T>(
        &self,
        during: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<(T, f64), Failure> {
        let before = self.received()?;
        let done = during()?;
        // The question itself is counted once.
        Ok((done, self.received()? - before - 1.0))
    }

    /// Microseconds of CPU that it has used, where the system tells.
    pub(crate) fn cpu(&self) -> f64 {
        self.0.pid().map_or(f64::NAN, cpu::of)
    }
}
