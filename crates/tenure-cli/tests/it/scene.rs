//! A directory with locks of its own, and the command that works on them.

use std::{
    fs,
    os::unix::fs::FileExt,
    path::PathBuf,
    process::{Command, Output, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::process::{Running, program};

/// Long enough for a machine that does many other things.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Scene {
    dir: TempDir,
    /// The embedded store in `dir`, unless another was chosen.
    store: Option<String>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), store: None }
    }

    /// A scene whose locks are kept elsewhere.
    pub(crate) fn with_store(url: &str) -> Self {
        Self { store: Some(url.to_owned()), ..Self::new() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn store(&self) -> String {
        let own = || format!("file:{}", self.path("locks").display());
        self.store.clone().unwrap_or_else(own)
    }

    /// `tenure ARGS` with this scene's store, and nothing of the machine's own settings.
    pub(crate) fn tenure<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = program(env!("CARGO_BIN_EXE_tenure"));
        command.args(args).stdin(Stdio::null()).current_dir(self.dir.path());
        for inherited in ["CONFIG", "HANDLE", "NAME", "TOKEN", "STORE_KIND"] {
            command.env_remove(format!("TENURE_{inherited}"));
        }
        command.env("TENURE_STORE", self.store()).env("XDG_CONFIG_HOME", self.path("config"));
        command
    }

    /// Runs `tenure ARGS` to its end.
    pub(crate) fn output<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Output {
        self.tenure(args).output().unwrap()
    }

    /// `tenure run OPTIONS -- sh -c SCRIPT` to its end.
    pub(crate) fn run(&self, options: &str, script: &str) -> Output {
        self.run_command(options, script).output().unwrap()
    }

    /// `tenure run OPTIONS -- sh -c SCRIPT`, which goes on.
    pub(crate) fn start(&self, options: &str, script: &str) -> Running {
        self.start_as("run", options, script)
    }

    /// `tenure SUBCOMMAND OPTIONS -- sh -c SCRIPT`, which goes on.
    pub(crate) fn start_as(&self, subcommand: &str, options: &str, script: &str) -> Running {
        let mut command = self.command(subcommand, options, script);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::start(&mut command)
    }

    pub(crate) fn run_command(&self, options: &str, script: &str) -> Command {
        self.command("run", options, script)
    }

    pub(crate) fn command(&self, subcommand: &str, options: &str, script: &str) -> Command {
        let words = options.split_whitespace();
        self.tenure([subcommand].into_iter().chain(words).chain(["--", "sh", "-c", script]))
    }

    /// The text of a file as soon as it ends with a line feed.
    pub(crate) fn line(&self, name: &str) -> String {
        let path = self.path(name);
        let mut text = String::new();
        eventually(&format!("{name} is written"), || {
            text = fs::read_to_string(&path).unwrap_or_default();
            text.ends_with('\n')
        });
        text.trim().to_owned()
    }

    /// The process numbers that a script wrote into a file.
    pub(crate) fn pids(&self, name: &str) -> Vec<i32> {
        self.line(name).split_whitespace().map(|word| word.parse().unwrap()).collect()
    }

    /// What `show NAME --json` answers.
    pub(crate) fn show(&self, name: &str) -> serde_json::Value {
        json(&self.output(["show", name, "--json"]).stdout)
    }

    /// Overwrites a part of both copies of the state of the one name that was ever locked here.
    pub(crate) fn damage_the_only_state(&self) {
        let inside = |dir: PathBuf| -> Vec<PathBuf> {
            fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
        };
        let boots = inside(self.path("locks/boots"));
        let folders = boots.iter().flat_map(|boot| inside(boot.join("locks")));
        let states: Vec<_> = folders.filter(|it| it.is_dir()).flat_map(inside).collect();
        assert_eq!(states.len(), 1, "{states:?}");
        let file = fs::OpenOptions::new().write(true).open(&states[0]).unwrap();
        for at in [60, 2108] {
            file.write_all_at(&[0xff; 40], at).unwrap();
        }
    }

    /// Waits until so many wait for a lock.
    pub(crate) fn until_waiting(&self, name: &str, count: usize) {
        eventually(&format!("{count} wait for {name}"), || {
            self.show(name)["waiters"].as_array().unwrap().len() == count
        });
    }
}

/// Tells the other threads of a test that it is over, also when it fails: whoever waits for them would wait for ever.
pub(crate) struct Over<'a>(pub(crate) &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Waits for `condition`, and fails if it does not come true in time.
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < until, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

pub(crate) fn json(bytes: &[u8]) -> serde_json::Value {
    serde_json::from_slice(bytes).unwrap_or_else(|error| panic!("{error:#}: {:?}", text(bytes)))
}

/// Each line of stderr as JSON.
pub(crate) fn events(stderr: &[u8]) -> Vec<serde_json::Value> {
    text(stderr).lines().map(|line| json(line.as_bytes())).collect()
}
