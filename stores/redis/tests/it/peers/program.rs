//! The programs of other libraries: built once, and run beside tenure.

use std::{
    collections::BTreeSet,
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Mutex,
    time::Duration,
};

use tenure_testkit::child::{SAID, command};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout},
    time::timeout,
};

use super::library::{Language, Library};

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers");

/// A small machine that starts quickly.
const JAVA: [&str; 3] = ["-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];

/// What the programs in Java share.
const JVM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/jvm");

/// How long a program may be silent.
const PATIENCE: Duration = Duration::from_secs(120);

/// A process that locks one key by another library. It is killed when this is dropped.
#[derive(Debug)]
pub(super) struct Peer {
    library: Library,
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    /// What the lines that it says begin with; all others are not for us.
    mark: &'static str,
}

impl Peer {
    pub(super) fn start(library: Library, port: u16, ttl: Duration, key: &str) -> Self {
        Self::at(library, &port.to_string(), ttl, key, None)
    }

    /// One in the cluster that has a node at this port.
    pub(super) fn in_cluster(library: Library, port: u16, ttl: Duration, key: &str) -> Self {
        Self::at(library, &format!("cluster:{port}"), ttl, key, None)
    }

    /// One that puts a prefix before each key: Redisson's NameMapper.
    pub(super) fn with_prefix(
        library: Library,
        port: u16,
        ttl: Duration,
        key: &str,
        prefix: &str,
    ) -> Self {
        Self::at(library, &port.to_string(), ttl, key, Some(prefix))
    }

    fn at(library: Library, place: &str, ttl: Duration, key: &str, prefix: Option<&str>) -> Self {
        let mut command = tokio::process::Command::from(library.language().program());
        command.arg(library.name()).args([place, &ttl.as_millis().to_string(), key]);
        command.args(prefix);
        Self::run(command, library, "")
    }

    /// A process of tenure beside them, which obeys some of the same orders.
    pub(super) fn ours(library: Library, url: &str, ttl: Duration, key: &str) -> Self {
        let url = format!("{url}?{}", library.settings());
        let is_write = library.is_write().to_string();
        let role = ["beside peers", &url, &is_write, &ttl.as_millis().to_string(), key];
        let command = command(&[], &env::current_exe().unwrap(), &role);
        Self::run(command.into(), library, SAID)
    }

    fn run(mut command: tokio::process::Command, library: Library, mark: &'static str) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { library, input: child.stdin.take().unwrap(), child, lines, mark }
    }

    pub(super) async fn tell(&mut self, order: &str) {
        self.input.write_all(format!("{order}\n").as_bytes()).await.unwrap();
        self.input.flush().await.unwrap();
    }

    /// Waits until it says this, and returns what it says behind it.
    pub(super) async fn says(&mut self, expected: &str) -> String {
        let said = self.answer(expected).await;
        let rest = said.strip_prefix(expected);
        let rest = rest.filter(|rest| rest.is_empty() || rest.starts_with(' '));
        let rest = rest.unwrap_or_else(|| panic!("{:?}: {said} is not {expected}", self.library));
        rest.trim_start().to_owned()
    }

    /// What it says next, whatever that is.
    pub(super) async fn answer(&mut self, expected: &str) -> String {
        let said = timeout(PATIENCE, self.line()).await;
        let said = said.unwrap_or_else(|_| panic!("{:?} does not say {expected:?}", self.library));
        said.unwrap_or_else(|| "(nothing more)".to_owned())
    }

    async fn line(&mut self) -> Option<String> {
        while let Some(line) = self.lines.next_line().await.unwrap() {
            if let Some((_, said)) = line.split_once(self.mark) {
                return Some(said.to_owned());
            }
        }
        None
    }

    /// Gives an order, and waits for this answer.
    pub(super) async fn asked(&mut self, order: &str, answer: &str) -> String {
        self.tell(order).await;
        self.says(answer).await
    }

    /// Locks this key by another library of the same program from now on.
    pub(super) async fn uses(&mut self, library: Library, key: &str) {
        assert_eq!(library.language(), self.library.language());
        self.library = library;
        self.asked(&format!("use {} {key}", library.name()), "using").await;
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Sends a signal as `kill` names it: `-STOP`.
    pub(super) async fn signal(&self, signal: &str) {
        let mut kill = tokio::process::Command::new("kill");
        assert!(kill.args([signal, &self.id().to_string()]).status().await.unwrap().success());
    }

    /// Ends it as `kill -9` does.
    pub(super) async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }
}

impl Language {
    /// What starts its program, which is built if its sources have changed since.
    fn program(self) -> Command {
        static BUILT: Mutex<BTreeSet<Language>> = Mutex::new(BTreeSet::new());
        let source = Path::new(SOURCES).join(self.folder());
        let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers").join(self.build_folder());
        let mut done = BUILT.lock().unwrap();
        if done.insert(self) {
            fs::create_dir_all(&built).unwrap();
            // Other test programs build it, too.
            let lock = File::create(built.join("lock")).unwrap();
            lock.lock().unwrap();
            let (stamp, mut sources) = (built.join("stamp"), texts(&source));
            if self.is_jvm() {
                sources.extend(texts(JVM.as_ref()));
            }
            if fs::read(&stamp).ok().as_ref() != Some(&sources) {
                self.build(&source, &built);
                fs::write(stamp, sources).unwrap();
            }
        }
        let start = |program: &Path, script: Option<PathBuf>| {
            let mut command = Command::new(program);
            command.args(script);
            command
        };
        match self {
            Self::Python => start(&built.join("bin/python"), Some(source.join("peer.py"))),
            Self::Go => start(&built.join("peer"), None),
            Self::Node => start("node".as_ref(), Some(built.join("peer.mjs"))),
            Self::Java | Self::Redisson(_) => {
                let mut java = Command::new("java");
                java.args(JAVA).arg("-cp").arg(format!("{0}/classes:{0}/lib/*", built.display()));
                java.arg("Peer");
                java
            }
        }
    }

    fn build(self, source: &Path, built: &Path) {
        let run = |command: &mut Command| {
            let told = command.current_dir(source).stdin(Stdio::null()).output();
            let told = told.unwrap_or_else(|error| panic!("{command:?} does not run: {error}"));
            let said = [told.stdout, told.stderr].concat();
            assert!(told.status.success(), "{command:?}: {}", String::from_utf8_lossy(&said));
        };
        match self {
            Self::Python => {
                run(Command::new("python3").args(["-m", "venv"]).arg(built));
                let mut pip = Command::new(built.join("bin/python"));
                let install = ["-m", "pip", "install", "--quiet", "--require-hashes", "-r"];
                run(pip.args(install).arg("requirements.txt"));
            }
            Self::Go => run(Command::new("go").args(["build", "-o"]).arg(built.join("peer"))),
            Self::Node => {
                // It looks for its packages beside itself.
                for file in ["package.json", "package-lock.json", "peer.mjs"] {
                    fs::copy(source.join(file), built.join(file)).unwrap();
                }
                let mut npm = Command::new("npm");
                run(npm.args(["ci", "--ignore-scripts", "--no-audit", "--prefix"]).arg(built));
            }
            Self::Java | Self::Redisson(_) => {
                let mut mvn = Command::new("mvn");
                mvn.args(["-q", "-B"]).arg(format!("-DbuildDirectory={}", built.display()));
                if let Self::Redisson(version) = self {
                    mvn.arg(format!("-Dredisson={}", version.text()));
                }
                run(mvn.arg("compile"));
            }
        }
    }
}

/// All that a program is built of.
fn texts(source: &Path) -> Vec<u8> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(source).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let text = |file: &PathBuf| {
        if file.is_dir() { texts(file) } else { fs::read(file).unwrap() }
    };
    files.iter().flat_map(text).collect()
}
