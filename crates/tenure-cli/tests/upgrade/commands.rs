//! The commands: that of this commit, and those of earlier ones.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::places::Place;

/// Which of them is that of this commit.
pub(crate) const PRESENT: &str = "present";

/// How many processes of each version there are at a time, and how often each is to get the lock.
const PROCESSES: usize = 3;
const ROUNDS: usize = 5;
/// For how long each asks at most.
const AT_MOST: Duration = Duration::from_secs(5);

/// What each does in the lock: two that are there together leave a trace, and so does a count that is lost.
const COUNTS: &str = "mkdir busy || echo twice >> twice; read n < counter; sleep 0.01; echo $((n + 1)) > counter; \
    echo ran >> $1; rmdir busy";

/// The command of one commit.
pub(crate) struct Version {
    pub(crate) commit: String,
    program: PathBuf,
    /// Where it runs.
    pub(crate) folder: TempDir,
}

/// How a call ended, and what it said.
pub(crate) struct Done {
    code: Option<i32>,
    pub(crate) words: String,
}

/// A process that holds a lock until this is dropped.
pub(crate) struct Holder(Child);

pub(crate) fn present() -> Version {
    version(PRESENT, env!("CARGO_BIN_EXE_tenure"))
}

/// Those that `TENURE_UPGRADE` names: `COMMIT=PROGRAM`, separated by commas.
pub(crate) fn earlier() -> Vec<Version> {
    let Ok(all) = env::var("TENURE_UPGRADE") else {
        panic!("TENURE_UPGRADE names no earlier commands: run scripts/upgrade");
    };
    let each = all.split(',').map(|one| one.split_once('=').unwrap());
    each.map(|(commit, program)| version(commit, program)).collect()
}

fn version(commit: &str, program: &str) -> Version {
    let (commit, program) = (commit.to_owned(), program.into());
    Version { commit, program, folder: tempfile::tempdir().unwrap() }
}

impl Version {
    pub(crate) fn run(&self, place: &Place, args: &[&str]) -> Done {
        let output = self.command(place, self.folder.path()).args(args).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        Done { code: output.status.code(), words: plain(&String::from_utf8_lossy(&said), place) }
    }

    /// Holds a lock.
    pub(crate) fn hold(&self, place: &Place, name: &str) -> Holder {
        let mut command = self.command(place, self.folder.path());
        command.args(["run", name, "--", "sh", "-c", "echo in; read end"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "in\n", "{} holds {name}", self.commit);
        Holder(child)
    }

    /// Calls again and again, until enough were done or the time is over.
    fn calls(&self, place: &Place, folder: &Path, args: &[&str], came: &Came) {
        let began = Instant::now();
        let mut done = 0;
        let ran = format!("{}.{}", self.commit, args[3]);
        while done < ROUNDS && began.elapsed() < AT_MOST {
            let mut command = self.command(place, folder);
            let output =
                command.args(args).args(["--", "sh", "-c", COUNTS, "sh", &ran]).output().unwrap();
            let words = String::from_utf8_lossy(&output.stderr).into_owned();
            let call = Done { code: output.status.code(), words };
            if call.is_done() {
                done += 1;
                came.done.fetch_add(1, Ordering::Relaxed);
            } else if !call.is_busy() {
                came.refused.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn command(&self, place: &Place, folder: &Path) -> Command {
        let mut command = Command::new(&self.program);
        for inherited in ["CONFIG", "HANDLE", "NAME", "TOKEN", "STORE_KIND"] {
            command.env_remove(format!("TENURE_{inherited}"));
        }
        command.env("TENURE_STORE", &place.url).env("XDG_CONFIG_HOME", self.folder.path());
        command.current_dir(folder).stdin(Stdio::null());
        command
    }
}

impl Done {
    pub(crate) fn is_done(&self) -> bool {
        self.code == Some(0)
    }

    /// Whether somebody else has the lock.
    pub(crate) fn is_busy(&self) -> bool {
        self.code == Some(124) || self.code == Some(75) || self.words.contains("held by")
    }

    pub(crate) fn knows_no_store(&self) -> bool {
        ["no store", "scheme", "not a URL", "knows no"].iter().any(|word| self.words.contains(word))
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // Its standard input ends, and so does what runs in the lock.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Without what is of this run alone, and in one line.
fn plain(said: &str, place: &Place) -> String {
    let line = said.trim().replace(&place.url, "URL");
    line.trim_start_matches("tenure: error: ").replace(['\n', '|'], " ")
}

/// What came of the calls of one version.
#[derive(Default)]
struct Came {
    done: AtomicUsize,
    refused: AtomicUsize,
}

/// Both at the same time: how often each ran something in a lock and was refused, and that no two ran together. Those who
/// wait share a lock, and those who only try.
pub(crate) fn mix(old: &Version, new: &Version, place: &Place) -> String {
    let folder = tempfile::tempdir().unwrap();
    let each = [("waited", "10s"), ("tried", "0s")].map(|(lock, wait)| {
        fs::write(folder.path().join("counter"), "0\n").unwrap();
        let came = [Came::default(), Came::default()];
        thread::scope(|threads| {
            for process in 0..PROCESSES {
                for (version, came) in [old, new].into_iter().zip(&came) {
                    let fair = place.fair && process == 0 && wait != "0s";
                    let args: Vec<_> = ["run", "--wait", wait, lock]
                        .into_iter()
                        .chain(fair.then_some("--fair"))
                        .collect();
                    let folder = folder.path();
                    threads.spawn(move || version.calls(place, folder, &args, came));
                }
            }
        });
        let ran = |version: &Version| lines(folder.path(), &format!("{}.{lock}", version.commit));
        let counted = fs::read_to_string(folder.path().join("counter")).unwrap();
        let counted: usize = counted.trim().parse().unwrap();
        assert_eq!(lines(folder.path(), "twice"), 0, "two held one lock in {}", place.store);
        assert_eq!(counted, ran(old) + ran(new), "counts were lost in {}", place.store);
        assert!(counted > 0, "nobody got a lock in {}", place.store);
        let [by_old, by_new] = came.map(|came| (came.done.into_inner(), came.refused.into_inner()));
        let refused = match (by_old.1, by_new.1) {
            (0, 0) => String::new(),
            (old, new) => format!(", refused {old} and {new} times"),
        };
        format!("{lock}: {} and {}{refused:#}", by_old.0, by_new.0)
    });
    each.join("; ")
}

fn lines(folder: &Path, file: &str) -> usize {
    fs::read_to_string(folder.join(file)).unwrap_or_default().lines().count()
}
