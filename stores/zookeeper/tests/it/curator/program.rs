//! The program with Curator's recipes: built once, and started in JVMs.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::Mutex,
    time::{Duration, SystemTime},
};

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin},
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::timeout,
};

use crate::support::PATIENCE;

/// A version of Curator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Curator {
    /// The last of the fourth generation.
    Four,
    /// The latest.
    Five,
}

impl Curator {
    const fn version(self) -> &'static str {
        match self {
            Self::Four => "4.3.0",
            Self::Five => "5.9.0",
        }
    }

    /// Where its program is built.
    fn folder(self) -> PathBuf {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("curator-{}", self.version()))
    }
}

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/curator");

/// A small one that starts quickly.
const JAVA: [&str; 4] =
    ["-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"];

/// A JVM that runs one command of the program. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Peer {
    child: Child,
    input: ChildStdin,
    /// What it prints, but `state …`; and its log.
    lines: UnboundedReceiver<String>,
    log: UnboundedReceiver<String>,
    /// How it was called.
    words: String,
}

impl Peer {
    /// Starts it, on a session of this length.
    pub(super) fn start(
        curator: Curator,
        servers: &str,
        session: Duration,
        command: &[&str],
    ) -> Self {
        let folder = built(curator);
        let jars = format!("{0}/classes:{0}/lib/*", folder.display());
        let mut java = tokio::process::Command::new("java");
        java.args(JAVA).args(["-cp", &jars, "Peer", servers]);
        java.arg(session.as_millis().to_string()).args(command).kill_on_drop(true);
        java.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = java.spawn().unwrap();
        let lines = lines_of(child.stdout.take().unwrap());
        let log = lines_of(child.stderr.take().unwrap());
        let words = format!("Curator {}: {}", curator.version(), command.join(" "));
        Self { input: child.stdin.take().unwrap(), child, lines, log, words }
    }

    /// The next thing that it says; nothing when it has ended.
    pub(super) async fn says(&mut self) -> Option<String> {
        self.says_within(PATIENCE).await
    }

    pub(super) async fn says_within(&mut self, patience: Duration) -> Option<String> {
        let Ok(said) = timeout(patience, self.lines.recv()).await else {
            self.fails(&format!("says nothing for {patience:?}"))
        };
        if said.as_ref().is_some_and(|said| said.starts_with("error ")) {
            self.fails(said.as_deref().unwrap_or_default());
        }
        said
    }

    /// Waits until it says this.
    pub(super) async fn says_this(&mut self, expected: &str) {
        let said = self.says().await;
        if said.as_deref() != Some(expected) {
            self.fails(&format!("says {said:?}, not {expected:?}"));
        }
    }

    /// Whether it has said nothing since it was last heard.
    pub(super) fn is_silent(&self) -> bool {
        self.lines.is_empty()
    }

    /// Waits until it holds what it was told to: the node, and the transaction that made it.
    pub(crate) async fn says_held(&mut self) -> Held {
        let said = self.says().await.unwrap_or_default();
        let mut words = said.split(' ');
        match (words.next(), words.next(), words.next().and_then(|czxid| czxid.parse().ok())) {
            (Some("held"), Some(node), Some(czxid)) => Held { node: node.to_owned(), czxid },
            _ => self.fails(&format!("says {said:?}")),
        }
    }

    pub(super) async fn tell(&mut self, order: &str) {
        self.input.write_all(format!("{order}\n").as_bytes()).await.unwrap();
        self.input.flush().await.unwrap();
    }

    /// Tells it something, and hears the answer.
    pub(crate) async fn asked(&mut self, order: &str) -> String {
        self.tell(order).await;
        self.says().await.unwrap_or_default()
    }

    /// What it says until `done`, which it has to come to.
    pub(crate) async fn says_until_done(&mut self, patience: Duration) -> Vec<String> {
        let mut all = Vec::new();
        while let Some(said) = self.says_within(patience).await {
            if said.starts_with("done") {
                return all;
            }
            all.push(said);
        }
        self.fails("ends before it is done")
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Ends it as `kill -9` does, and returns when it is dead.
    pub(super) async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }

    fn fails(&mut self, how: &str) -> ! {
        let mut log = String::new();
        while let Ok(line) = self.log.try_recv() {
            log.push_str(&line);
            log.push('\n');
        }
        panic!("{} {how}\n{log}", self.words)
    }
}

/// A lock that a JVM holds.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) node: String,
    pub(crate) czxid: u64,
}

fn lines_of(output: impl AsyncRead + Unpin + Send + 'static) -> UnboundedReceiver<String> {
    let (hears, lines) = unbounded_channel();
    tokio::spawn(async move {
        let mut read = BufReader::new(output).lines();
        while let Ok(Some(line)) = read.next_line().await {
            if !line.starts_with("state ") && hears.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// The folder with the program, which is built if its sources have changed since.
fn built(curator: Curator) -> PathBuf {
    static BUILDS: Mutex<Vec<Curator>> = Mutex::new(Vec::new());
    let folder = curator.folder();
    let mut builds = BUILDS.lock().unwrap();
    if !builds.contains(&curator) {
        // Maven's own repository is not made for several at once, not even of different versions.
        let lock = File::create(folder.with_file_name("curator.lock")).unwrap();
        lock.lock().unwrap();
        let stamp = folder.join("built");
        if changed(&stamp).is_none_or(|built| built < last_change(SOURCES.as_ref())) {
            build(curator, &folder);
            fs::write(stamp, "").unwrap();
        }
        builds.push(curator);
    }
    folder
}

fn changed(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|seen| seen.modified()).ok()
}

fn last_change(path: &Path) -> SystemTime {
    let inside = fs::read_dir(path).into_iter().flatten();
    let inside = inside.map(|entry| last_change(&entry.unwrap().path()));
    inside.chain(changed(path)).max().unwrap()
}

fn build(curator: Curator, folder: &Path) {
    let needed = "Curator's recipes need a JDK of 11 or later and Maven; install them with: apt-get \
                  install default-jdk-headless maven";
    // Maven finds that out late, and says it badly.
    let compiler = Command::new("javac").arg("-version").output();
    assert!(compiler.is_ok_and(|told| told.status.success()), "javac does not run. {needed}");
    let maven = |offline: bool| {
        let mut maven = Command::new("mvn");
        maven.args(offline.then_some("-o")).args(["-q", "-B", "-f", SOURCES]);
        maven.arg(format!("-Dcurator.version={}", curator.version()));
        maven.arg(format!("-DbuildDirectory={}", folder.display())).arg("compile");
        maven.stdin(Stdio::null()).output()
    };
    // What was fetched once needs no network.
    let built = said_well(maven(true)).or_else(|_| said_well(maven(false)));
    if let Err(said) = built {
        panic!("Maven does not build {SOURCES}. {needed}\n{said}");
    }
}

fn said_well(ran: io::Result<Output>) -> Result<(), String> {
    let told = ran.map_err(|error| format!("mvn: {error:#}"))?;
    let said = [told.stdout, told.stderr].concat();
    if told.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&said).into_owned()) }
}
