//! A ZooKeeper server for the figures, on a free port, that waits for its disk.

use std::{
    fs::{self, File},
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use crate::{Failure, cpu, orphan::Watch};

/// Where Debian keeps it: the first jar names what it needs, the other is for its log.
const JARS: &str = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar";

/// All compilers of the JVM are left on, so that it becomes as quick as one in use.
const JAVA: [&str; 3] =
    ["-Xmx1g", "-Djava.awt.headless=true", "-Dzookeeper.jmx.log4j.disable=true"];

/// What is said of its settings is what a figure depends on.
const SETTINGS: [(&str, &str); 6] = [
    ("tickTime", "2000"),
    ("forceSync", "yes"),
    ("maxClientCnxns", "0"),
    ("clientPortAddress", "127.0.0.1"),
    ("admin.enableServer", "false"),
    ("4lw.commands.whitelist", "*"),
];

/// A server that ends with this value.
#[derive(Debug)]
pub(crate) struct Server {
    // Ended before the process, which is waited for in `drop`.
    watch: Option<Watch>,
    process: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl Server {
    /// Starts one with its data below `dir`.
    pub(crate) fn start(dir: &Path) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new().prefix("zookeeper").tempdir_in(dir)?;
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let mut lines = format!("dataDir={}/data\nclientPort={port}\n", folder.path().display());
        for (name, value) in SETTINGS {
            lines.push_str(&format!("{name}={value}\n"));
        }
        let file = folder.path().join("zoo.cfg");
        fs::write(&file, lines)?;
        let log = File::create(folder.path().join("log"))?;
        let process = Command::new("java")
            .args(JAVA)
            .args(["-cp", JARS, "org.apache.zookeeper.server.quorum.QuorumPeerMain"])
            .arg(file)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .map_err(|error| format!("java does not run: {error:#}"))?;
        let watch = Some(Watch::over(process.id())?);
        let mut server = Self { watch, process, port, folder };
        let since = Instant::now();
        // Somebody else may have taken the port meanwhile.
        while !server.is_itself() {
            let ended = server.process.try_wait()?.is_some();
            if ended || since.elapsed() > Duration::from_secs(60) {
                let said = fs::read_to_string(server.folder.path().join("log"))?;
                let last = said.lines().last().unwrap_or_default();
                let help = "install it with: apt-get install zookeeper default-jre-headless";
                return Err(format!("ZooKeeper does not start; {help}\n{last}").into());
            }
            sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// Whether what listens there has this folder.
    fn is_itself(&self) -> bool {
        let folder = self.folder.path().display().to_string();
        self.ask("conf").is_ok_and(|told| told.contains(&folder))
    }

    /// What it answers to a word of four letters.
    fn ask(&self, word: &str) -> Result<String, Failure> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(word.as_bytes())?;
        let mut told = String::new();
        stream.read_to_string(&mut told)?;
        Ok(told)
    }

    /// Its version, and how it was set up.
    pub(super) fn settings(&self) -> Result<String, Failure> {
        let told = self.ask("srvr")?;
        let version = told.lines().find_map(|line| line.strip_prefix("Zookeeper version: "));
        let version = version.and_then(|version| version.split([' ', '-', ',']).next());
        let [tick, sync, ..] = SETTINGS.map(|(name, value)| format!("{name}={value}"));
        let [heap, ..] = JAVA;
        let version = version.unwrap_or("of an unknown version");
        Ok(format!("one ZooKeeper {version}, {tick}, {sync}, java {heap}"))
    }

    pub(super) fn hosts(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Its URL for tenure.
    pub(crate) fn url(&self) -> String {
        format!("zookeeper://{}?session={}s", self.hosts(), super::SESSION.as_secs())
    }

    /// How many requests it has received so far, without those that asked for it.
    pub(super) fn received(&self) -> Result<f64, Failure> {
        let told = self.ask("mntr")?;
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
        cpu::of(self.process.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.watch = None;
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
