//! ShedLock with the same job at the same times: each host is a JVM with a provider of its own.

use std::{
    fs::{File, create_dir, create_dir_all},
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use tempfile::TempDir;
use tenure_servers::PostgresServer;
use tenure_testkit::Random;

use crate::{
    drill::{HOSTS, Start, now},
    journal::{self, Line},
};

pub(crate) const VERSION: &str = "6.9.2";

const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/slots/shedlock");

/// A small one that starts quickly.
const JAVA: [&str; 5] = [
    "-Xmx64m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
];

/// Its program, built, and a database with its table.
pub(crate) struct ShedLock<'a> {
    jars: String,
    server: &'a PostgresServer,
}

/// Ten hosts, ready to start.
pub(crate) struct Hosts {
    hosts: Vec<Host>,
    /// The journals.
    dir: TempDir,
    at_least: &'static [u64],
}

/// What came of a job.
pub(crate) struct Done {
    pub(crate) journal: Vec<Line>,
    /// The slots that the hosts meant, in seconds since 1970: the first one, and the first one after them.
    pub(crate) meant: (u64, u64),
}

/// A JVM that does not outlive its test.
struct Host {
    child: Child,
    says: BufReader<ChildStdout>,
}

impl Done {
    /// The slot that a call meant.
    pub(crate) fn slot_of(&self, call: usize) -> u64 {
        let (first, end) = self.meant;
        first + call as u64 % (end - first)
    }
}

impl<'a> ShedLock<'a> {
    pub(crate) fn new(server: &'a PostgresServer) -> Self {
        let folder = built();
        let peer = Self { jars: format!("{0}/classes:{0}/lib/*", folder.display()), server };
        Host::start(peer.java("table")).ends(Instant::now() + PATIENCE);
        peer
    }

    /// Starts its hosts, with a job for each `lockAtLeastFor`, in milliseconds.
    pub(crate) fn start(&self, at_least: &'static [u64]) -> Hosts {
        let dir = tempfile::tempdir().unwrap();
        for at_least in at_least {
            create_dir(dir.path().join(at_least.to_string())).unwrap();
        }
        let start = |_| {
            let mut java = self.java(&dir.path().display().to_string());
            java.args(at_least.iter().map(u64::to_string));
            let mut host = Host::start(java);
            // One after the other: starting is most of what they do.
            host.is_ready();
            host
        };
        let hosts = (0..HOSTS).map(start).collect();
        Hosts { hosts, dir, at_least }
    }

    fn java(&self, word: &str) -> Command {
        let mut java = Command::new("java");
        java.args(JAVA).args(["-cp", &self.jars, "Host"]);
        java.arg(format!("jdbc:postgresql://127.0.0.1:{}/tenure", self.server.port()));
        java.args(["postgres", word]);
        java
    }
}

impl Hosts {
    /// What came of each of the jobs.
    pub(crate) fn run(mut self, slots: u64, seed: u64) -> Vec<Done> {
        let first = now().as_secs() + 2;
        let meant = (first, first + slots);
        let mut random = Random::new(seed);
        for (host, number) in self.hosts.iter_mut().zip(0..) {
            host.order(meant, number * slots, random.split());
        }
        let until = Instant::now() + Duration::from_secs(slots) + PATIENCE;
        self.hosts.into_iter().for_each(|host| host.ends(until));
        let folders =
            self.at_least.iter().map(|at_least| self.dir.path().join(at_least.to_string()));
        folders.map(|folder| Done { journal: journal::read(&folder), meant }).collect()
    }
}

impl Host {
    fn start(mut java: Command) -> Self {
        java.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = java.spawn().unwrap();
        let says = BufReader::new(child.stdout.take().unwrap());
        Self { child, says }
    }

    fn is_ready(&mut self) {
        let mut line = String::new();
        self.says.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "a JVM of ShedLock does not start");
    }

    /// Tells it all its starts.
    fn order(&mut self, meant: (u64, u64), first: u64, mut random: Random) {
        let mut orders = String::new();
        for (slot, call) in (meant.0..meant.1).zip(first..) {
            let Start { due, work, .. } = Start::draw(slot, &mut random);
            orders += &format!("{call} {} {}\n", due.as_micros(), work.as_micros());
        }
        let mut input = self.child.stdin.take().unwrap();
        input.write_all(orders.as_bytes()).unwrap();
    }

    /// Waits until it has done everything.
    fn ends(mut self, until: Instant) {
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < until, "a JVM of ShedLock does not end");
            sleep(POLL);
        };
        assert!(status.success(), "a JVM of ShedLock ended: {status}");
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The folder with the program.
fn built() -> PathBuf {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    create_dir_all(tmp).unwrap();
    // Maven's own repository is not made for several at once: the tests of stores take the same lock.
    let one = File::create(tmp.join("curator.lock")).unwrap();
    one.lock().unwrap();
    let folder = tmp.join(format!("shedlock-{VERSION}"));
    // What was fetched once needs no network.
    if let Err(said) = maven(&folder, true).or_else(|_| maven(&folder, false)) {
        panic!(
            "Maven does not build {SOURCES}. ShedLock needs a JDK of 17 or later and Maven; install them with: \
             apt-get install default-jdk-headless maven\n{said}"
        );
    }
    folder
}

fn maven(folder: &Path, offline: bool) -> Result<(), String> {
    let mut maven = Command::new("mvn");
    maven.args(offline.then_some("-o")).args(["-q", "-B", "-f", SOURCES]);
    maven.arg(format!("-Dshedlock.version={VERSION}"));
    maven.arg(format!("-DbuildDirectory={}", folder.display())).arg("compile");
    let told = maven.stdin(Stdio::null()).output().map_err(|error| format!("mvn: {error:#}"))?;
    let said = [told.stdout, told.stderr].concat();
    if told.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&said).into_owned()) }
}
