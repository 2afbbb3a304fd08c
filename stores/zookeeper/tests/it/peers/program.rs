//! The programs in other languages: built once, and run beside tenure.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    path::Path,
    process::{Command, Stdio},
    sync::Mutex,
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout},
    time::timeout,
};

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers");

/// How long a program may be silent.
const PATIENCE: Duration = Duration::from_secs(60);

/// A lock of another library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Library {
    KazooLock,
    KazooRead,
    KazooWrite,
    /// `Lock` with `extra_lock_patterns`.
    KazooPatterns,
    /// The subclass that writes Curator's nodes.
    KazooCurator,
    GoZookeeper,
}

/// The language that a program is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Language {
    Python,
    Go,
}

impl Library {
    const fn word(self) -> &'static str {
        match self {
            Self::KazooLock | Self::GoZookeeper => "lock",
            Self::KazooRead => "read",
            Self::KazooWrite => "write",
            Self::KazooPatterns => "patterns",
            Self::KazooCurator => "curator",
        }
    }

    const fn language(self) -> Language {
        match self {
            Self::GoZookeeper => Language::Go,
            _ => Language::Python,
        }
    }

    /// What tenure's URL needs beside it.
    pub(super) const fn settings(self) -> &'static str {
        match self {
            Self::KazooCurator | Self::GoZookeeper => "",
            Self::KazooLock | Self::KazooPatterns => "&layout=kazoo",
            Self::KazooRead | Self::KazooWrite => "&layout=kazoo&readers=yes",
        }
    }

    /// What its nodes say of who made them.
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::GoZookeeper => "go",
            _ => "python",
        }
    }
}

/// A process that locks one path by another library. It is killed when this is dropped.
#[derive(Debug)]
pub(super) struct Peer {
    library: Library,
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Peer {
    pub(super) fn start(library: Library, server: &str, session: Duration, path: &str) -> Self {
        let mut command = tokio::process::Command::from(library.language().program());
        command.args([library.word(), server, &session.as_millis().to_string(), path]);
        // What they log of lost connections is not of interest.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { library, input: child.stdin.take().unwrap(), child, lines }
    }

    pub(super) async fn tell(&mut self, order: &str) {
        self.input.write_all(format!("{order}\n").as_bytes()).await.unwrap();
        self.input.flush().await.unwrap();
    }

    async fn says_something(&mut self, expected: &str) -> String {
        let said = timeout(PATIENCE, self.lines.next_line()).await;
        let said = said.unwrap_or_else(|_| panic!("{:?} does not say {expected:?}", self.library));
        said.unwrap().unwrap_or_default()
    }

    /// Waits until it says this.
    pub(super) async fn says(&mut self, expected: &str) {
        assert_eq!(self.says_something(expected).await, expected, "{:?}", self.library);
    }

    /// Waits until it holds the lock: the transaction that created its node.
    pub(super) async fn says_held(&mut self) -> u64 {
        let said = self.says_something("held").await;
        let czxid = said.strip_prefix("held ").and_then(|czxid| czxid.parse().ok());
        czxid.unwrap_or_else(|| panic!("{:?} says {said:?}", self.library))
    }

    /// Ends it as `kill -9` does.
    pub(super) async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }
}

impl Language {
    const fn folder(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Go => "go",
        }
    }

    /// What starts its program, which is built if its sources have changed since.
    fn program(self) -> Command {
        static BUILT: Mutex<BTreeSet<Language>> = Mutex::new(BTreeSet::new());
        let source = Path::new(SOURCES).join(self.folder());
        let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("zookeeper-peers");
        let built = built.join(self.folder());
        let mut done = BUILT.lock().unwrap();
        if done.insert(self) {
            fs::create_dir_all(&built).unwrap();
            // Other test programs build it, too.
            let lock = File::create(built.join("lock")).unwrap();
            lock.lock().unwrap();
            let (stamp, texts) = (built.join("stamp"), texts(&source));
            if fs::read(&stamp).ok().as_ref() != Some(&texts) {
                self.build(&source, &built);
                fs::write(stamp, texts).unwrap();
            }
        }
        match self {
            Self::Python => {
                let mut python = Command::new(built.join("bin/python"));
                python.arg(source.join("peer.py"));
                python
            }
            Self::Go => Command::new(built.join("peer")),
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
        }
    }
}

/// All that a program is built of.
fn texts(source: &Path) -> Vec<u8> {
    let mut files: Vec<_> =
        fs::read_dir(source).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().flat_map(|file| fs::read(file).unwrap()).collect()
}
