//! A ZooKeeper process in a folder of its own.

use std::{
    collections::BTreeMap,
    env,
    fs::{self, File},
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::kept::SupervisedProcess;

/// How long a process may take to answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// How long one answer may take.
pub(super) const ANSWER: Duration = Duration::from_secs(5);
/// The same where it is asked for again.
pub(super) const GLANCE: Duration = Duration::from_millis(500);

/// What is needed of `/usr/share/java`, where Debian keeps it, or of the folder that `$TENURE_ZOOKEEPER_JARS` names.
/// One that is not there is passed over.
const JARS: [&str; 14] = [
    "zookeeper-jute",
    "metrics-core",
    "snappy-java",
    "netty-buffer",
    "netty-codec",
    "netty-common",
    "netty-handler",
    "netty-resolver",
    "netty-transport",
    "netty-transport-native-epoll",
    "netty-transport-native-unix-common",
    "slf4j-api",
    "slf4j-simple",
    // Last: it names what it needs by paths of the system, which may be of another version.
    "zookeeper",
];

/// A small one that starts quickly; it logs to its standard error.
const JAVA: [&str; 9] = [
    "-Xmx128m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Djava.awt.headless=true",
    "-Dzookeeper.jmx.log4j.disable=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
];

/// What every server has unless it is told otherwise.
const SETTINGS: [(&str, &str); 7] = [
    ("tickTime", "500"),
    ("clientPortAddress", "127.0.0.1"),
    ("admin.enableServer", "false"),
    ("4lw.commands.whitelist", "*"),
    ("extendedTypesEnabled", "true"),
    ("maxClientCnxns", "0"),
    ("forceSync", "no"),
];

/// One process, or none at the moment. Dropping it ends the process and removes its folder.
#[derive(Debug)]
pub(super) struct Node {
    folder: tempfile::TempDir,
    settings: BTreeMap<String, String>,
    java: Vec<String>,
    port: u16,
    process: Option<SupervisedProcess>,
    /// Where in the log the present process begins.
    begins: u64,
}

/// What a server says of itself.
#[derive(Debug)]
pub(super) struct ServerStatus {
    /// `standalone`, `leader` or `follower`.
    pub(super) mode: String,
    /// The latest leader that it knows: they are counted.
    pub(super) epoch: u64,
}

impl Node {
    /// One that does not run yet, with these lines in its `zoo.cfg` and words for `java`.
    pub(super) fn new(settings: &[(&str, &str)], java: &[&str]) -> io::Result<Self> {
        Self::new_in(&env::temp_dir(), settings, java)
    }

    /// The same with its folder in `dir`.
    pub(super) fn new_in(dir: &Path, settings: &[(&str, &str)], java: &[&str]) -> io::Result<Self> {
        let folder = tempfile::tempdir_in(dir)?;
        let java = java.iter().map(|&word| word.to_owned()).collect();
        let (settings_of_it, port, process) = (BTreeMap::new(), 0, None);
        let mut node = Self { folder, settings: settings_of_it, java, port, process, begins: 0 };
        fs::create_dir(node.data())?;
        node.set("dataDir", node.data().display());
        for (name, value) in SETTINGS.iter().chain(settings) {
            node.set(name, value);
        }
        Ok(node)
    }

    /// Sets one line of its `zoo.cfg`, from its next start on.
    pub(super) fn set(&mut self, name: &str, value: impl ToString) {
        self.settings.insert(name.to_owned(), value.to_string());
    }

    /// Adds a word for `java`.
    pub(super) fn add_java(&mut self, word: String) {
        self.java.push(word);
    }

    /// Sets where clients reach it.
    pub(super) fn set_port(&mut self, port: u16) {
        self.port = port;
        self.set("clientPort", port);
    }

    pub(super) fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn data(&self) -> PathBuf {
        self.folder().join("data")
    }

    fn log(&self) -> PathBuf {
        self.folder().join("zookeeper.log")
    }

    pub(super) fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(SupervisedProcess::id)
    }

    /// Starts the process, and returns at once.
    pub(super) fn spawn(&mut self) -> io::Result<()> {
        let lines = self.settings.iter().map(|(name, value)| format!("{name}={value}\n"));
        let file = self.folder().join("zoo.cfg");
        fs::write(&file, lines.collect::<String>())?;
        let log = File::options().create(true).append(true).open(self.log())?;
        self.begins = log.metadata()?.len();
        let folder = env::var("TENURE_ZOOKEEPER_JARS").unwrap_or_default();
        let folder = if folder.is_empty() { "/usr/share/java" } else { &folder };
        let jars = JARS.map(|name| format!("{folder}/{name}.jar")).join(":");
        let mut java = Command::new("java");
        java.args(JAVA).args(&self.java).args(["-cp", &jars]);
        java.arg("org.apache.zookeeper.server.quorum.QuorumPeerMain").arg(&file);
        java.current_dir(self.folder());
        java.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        self.process = Some(SupervisedProcess::start(&mut java, self.folder())?);
        Ok(())
    }

    /// Waits until it serves, or until its port answers if that is enough. An error is what its log
    /// says instead.
    pub(super) fn until(&mut self, serves: bool) -> Result<(), String> {
        let since = Instant::now();
        // What is asked while it starts may get no answer.
        let mut patience = Duration::from_millis(50);
        while since.elapsed() < PATIENCE {
            if !self.process.as_mut().is_some_and(SupervisedProcess::runs) {
                return Err(self.said());
            }
            let asked = Instant::now();
            // On a port that was taken another server answers, until this one finds that out.
            let told = ask(self.address(), if serves { "conf" } else { "envi" }, patience);
            let folder = self.folder().display().to_string();
            if told.is_ok_and(|told| told.contains(&folder)) {
                return Ok(());
            }
            if asked.elapsed() >= patience {
                patience = (patience * 2).min(ANSWER);
            }
            thread::sleep(Duration::from_millis(10));
        }
        Err(self.said())
    }

    /// What the present process has logged.
    pub(super) fn said(&self) -> String {
        let log = fs::read(self.log()).unwrap_or_default();
        let begins = usize::try_from(self.begins).unwrap_or_default();
        String::from_utf8_lossy(log.get(begins..).unwrap_or_default()).into_owned()
    }

    /// Starts it, and returns when it serves.
    pub(super) fn start(&mut self) -> Result<(), String> {
        self.spawn().map_err(|error| error.to_string())?;
        self.until(true)
    }

    /// Ends the process if it runs, and starts it again on the same ports.
    ///
    /// # Panics
    /// When it does not start.
    #[allow(clippy::panic, reason = "a test without its server fails")]
    pub(super) fn restart(&mut self, serves: bool) {
        let since = Instant::now();
        loop {
            self.kill();
            let started = self.spawn().map_err(|error| error.to_string());
            let Err(said) = started.and_then(|()| self.until(serves)) else { return };
            // A connection of somebody else may have the port for a while.
            if !is_taken(&said) || since.elapsed() > PATIENCE {
                panic!("ZooKeeper does not start again\n{said}");
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends the process as `kill -9` does.
    pub(super) fn kill(&mut self) {
        self.process = None;
    }

    /// Removes its data. What else is in there, as the number of a member, stays.
    ///
    /// # Panics
    /// When that is not possible.
    pub(super) fn forget(&self) {
        let data = self.data().join("version-2");
        let removed = !data.exists() || fs::remove_dir_all(&data).is_ok();
        assert!(removed, "cannot remove {}", data.display());
    }

    /// Writes one of its files.
    pub(super) fn write(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let file = self.folder().join(name);
        fs::write(&file, text).map(|()| file)
    }

    /// What it answers to a word of four letters; nothing if it does not.
    pub(super) fn four_letters(&self, word: &str) -> String {
        ask(self.address(), word, ANSWER).unwrap_or_default()
    }

    /// What it is by its own words, if it serves.
    pub(super) fn state(&self, patience: Duration) -> Option<ServerStatus> {
        self.process.as_ref()?;
        let told = ask(self.address(), "srvr", patience).ok()?;
        let mode = told.lines().find_map(|line| line.strip_prefix("Mode: "))?.to_owned();
        let epoch = fs::read_to_string(self.data().join("version-2/currentEpoch"));
        Some(ServerStatus {
            mode,
            epoch: epoch.ok().and_then(|epoch| epoch.parse().ok()).unwrap_or(0),
        })
    }

    /// Stops the process until what this returns is dropped.
    pub(super) fn freeze(&self) -> FrozenZookeeper<'_> {
        self.signal("-STOP");
        FrozenZookeeper(self)
    }

    /// Sends a signal as `kill` names it.
    fn signal(&self, signal: &str) {
        let Some(pid) = self.pid() else { return };
        let sent = Command::new("kill").args([signal, &pid.to_string()]).status();
        assert!(sent.is_ok_and(|sent| sent.success()), "the server gets no signal");
    }
}

/// A server that is stopped; it goes on when this is dropped.
#[derive(Debug)]
#[must_use = "the server goes on when it is dropped"]
pub struct FrozenZookeeper<'a>(&'a Node);

impl Drop for FrozenZookeeper<'_> {
    fn drop(&mut self) {
        self.0.signal("-CONT");
    }
}

/// Whether a server did not start because somebody else has one of its ports.
pub(super) fn is_taken(said: &str) -> bool {
    said.contains("Address already in use")
}

fn ask(address: SocketAddr, word: &str, patience: Duration) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, patience)?;
    stream.set_read_timeout(Some(patience))?;
    stream.write_all(word.as_bytes())?;
    let mut told = String::new();
    stream.read_to_string(&mut told)?;
    Ok(told)
}
