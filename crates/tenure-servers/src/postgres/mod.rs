//! A PostgreSQL server on a free port of this machine.

mod pgbouncer;

pub use pgbouncer::PgBouncer;

use std::{
    env,
    ffi::OsString,
    fs::{self, OpenOptions},
    io::{Read, Seek, SeekFrom},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    kept::{SupervisedProcess, run},
    port::free_port,
};

/// Who it runs as where the tests run as root, which it refuses.
const USER: &str = "postgres";

/// How long it may take to start, also after a crash.
const PATIENCE: Duration = Duration::from_secs(60);

/// What it says once it may be asked.
const READY: &str = "ready to accept";

/// A `postgres` of its own for one test. Dropping it ends the process and removes its folder; so does the end of
/// this program.
#[derive(Debug)]
pub struct PostgresServer {
    folder: tempfile::TempDir,
    settings: Vec<String>,
    port: u16,
    process: Option<SupervisedProcess>,
}

/// A server all of whose processes are stopped; they go on when this is dropped.
#[derive(Debug)]
#[must_use = "the server goes on when it is dropped"]
pub struct FrozenPostgres(Vec<u32>);

impl PostgresServer {
    /// A server with an empty database `tenure`, which trusts whoever connects from this machine.
    ///
    /// # Panics
    /// When there is no such program, or it does not start.
    #[must_use]
    pub fn start() -> Self {
        Self::with(&[])
    }

    /// The same with these settings, as in `max_connections=20`.
    ///
    /// # Panics
    /// The same.
    #[must_use]
    #[allow(clippy::panic, reason = "a test without its server fails")]
    pub fn with(settings: &[&str]) -> Self {
        Self::try_start_in(&env::temp_dir(), settings).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The same with a folder in `dir`. Where this program runs as root, the server runs as the user `postgres`, who
    /// has to reach the folder.
    ///
    /// # Errors
    /// When there is no such program, or it does not start.
    pub fn try_start_in(dir: &Path, settings: &[&str]) -> Result<Self, String> {
        let help = "PostgreSQL does not start; install it with: apt-get install postgresql";
        Self::made(dir, settings).map_err(|error| format!("{help}\n{error}"))
    }

    /// A replica of this server, which takes no writes until it is [promoted](Self::promote).
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    #[allow(clippy::panic, reason = "a test without its server fails")]
    pub fn replica(&self) -> Self {
        let copied = || {
            let replica = Self::unstarted(&env::temp_dir(), &["hot_standby=on"])?;
            let data = replica.data();
            let port = self.port.to_string();
            let words = ["-h", "127.0.0.1", "-U", "postgres", "-R", "-c", "fast", "-p", &port];
            run(program("pg_basebackup")?.args(words).arg("--no-sync").arg("-D").arg(data))?;
            replica.started()
        };
        copied().unwrap_or_else(|error| panic!("the replica does not start: {error:#}"))
    }

    fn unstarted(dir: &Path, settings: &[&str]) -> Result<Self, String> {
        let folder = tempfile::tempdir_in(dir).map_err(|error| error.to_string())?;
        if is_root() {
            run(Command::new("chown").arg(USER).arg(folder.path()))?;
        }
        let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
        Ok(Self { folder, settings, port: 0, process: None })
    }

    fn made(dir: &Path, settings: &[&str]) -> Result<Self, String> {
        let server = Self::unstarted(dir, settings)?;
        let data = server.data();
        let words =
            ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"];
        run(program("initdb")?.args(words).arg("-D").arg(&data))?;
        // As the only statement of a server that serves nobody yet.
        let create = format!(
            "echo 'CREATE DATABASE tenure' | '{}' --single -D '{}' postgres",
            programs().ok_or("there is no initdb")?.join("postgres").display(),
            data.display()
        );
        run(as_user(Path::new("/bin/sh")).args(["-c", &create]))?;
        server.started()
    }

    fn started(mut self) -> Result<Self, String> {
        let mut last = String::new();
        // Somebody else may take a port between its choice and its use.
        for _ in 0..5 {
            self.port = free_port();
            match self.run() {
                Ok(()) => return Ok(self),
                Err(said) => last = said,
            }
        }
        Err(last)
    }

    /// Runs it on its port and its data.
    fn run(&mut self) -> Result<(), String> {
        let said = |error: std::io::Error| error.to_string();
        let mut server = program("postgres")?;
        server.arg("-D").arg(self.data()).arg("-k").arg(self.folder());
        server.args(["-h", "127.0.0.1", "-p", &self.port.to_string()]);
        // Not what the version takes for its default, which was MD5 before PostgreSQL 14.
        server.args(["-c", "password_encryption=scram-sha-256"]);
        for setting in &self.settings {
            server.args(["-c", setting]);
        }
        let log = self.folder().join("postgres.log");
        let file = OpenOptions::new().create(true).append(true).open(&log).map_err(said)?;
        let begins = file.metadata().map_err(said)?.len();
        server.stdin(Stdio::null()).stdout(file.try_clone().map_err(said)?).stderr(file);
        // At once, with the processes that it started, and what it has in shared memory.
        let mut process =
            SupervisedProcess::ended_by("-QUIT", &mut server, self.folder()).map_err(said)?;
        let since = Instant::now();
        loop {
            let said = since_then(&log, begins).unwrap_or_default();
            if said.contains(READY) {
                self.process = Some(process);
                return Ok(());
            }
            if since.elapsed() > PATIENCE || !process.runs() {
                return Err(said);
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Kills it and all that it started as `kill -9` does.
    pub fn kill(&mut self) {
        // First the one that would start others.
        for pid in self.pids() {
            signal("-KILL", pid);
        }
        self.process = None;
    }

    /// Ends it at once: whoever is connected is told so, and nothing is written to disk in order.
    pub fn end(&mut self) {
        if let Some(mut process) = self.process.take() {
            signal("-QUIT", process.id());
            let since = Instant::now();
            while since.elapsed() < PATIENCE && process.runs() {
                thread::sleep(Duration::from_millis(5));
            }
        }
    }

    /// Starts it again on the same port and the same data, after it was killed or ended.
    ///
    /// # Panics
    /// When it does not start.
    #[allow(clippy::panic, reason = "a test without its server fails")]
    pub fn restart(&mut self) {
        let since = Instant::now();
        // The shared memory of one that was killed is there until the last of its processes is gone.
        while let Err(said) = self.run() {
            assert!(since.elapsed() < PATIENCE, "PostgreSQL does not start again: {said}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Makes a replica the one that takes writes.
    ///
    /// # Panics
    /// When it cannot.
    #[allow(clippy::panic, reason = "a test without its server fails")]
    pub fn promote(&self) {
        let promoted = program("pg_ctl")
            .and_then(|mut ctl| run(ctl.args(["promote", "-w", "-D"]).arg(self.data())));
        promoted.unwrap_or_else(|error| panic!("it is not promoted: {error:#}"));
    }

    /// Stops all of its processes, as a machine does that hangs.
    pub fn freeze(&self) -> FrozenPostgres {
        let pids = self.pids();
        // First the one that would start others.
        pids.iter().for_each(|pid| signal("-STOP", *pid));
        FrozenPostgres(pids)
    }

    /// Its first process, if it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(SupervisedProcess::id)
    }

    /// That process and those that it started.
    fn pids(&self) -> Vec<u32> {
        let Some(first) = self.pid() else { return Vec::new() };
        let parent = format!("PPid:\t{first}");
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let children = pids.filter(|pid| {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            status.lines().any(|line| line == parent)
        });
        std::iter::once(first).chain(children).collect()
    }

    /// A URL of its database.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of("tenure")
    }

    /// A URL of another of its databases.
    #[must_use]
    pub fn url_of(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// Where it listens.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its folder, with `postgres.log` in it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn data(&self) -> PathBuf {
        self.folder().join("data")
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.end();
    }
}

impl Drop for FrozenPostgres {
    fn drop(&mut self) {
        self.0.iter().for_each(|pid| signal("-CONT", *pid));
    }
}

fn signal(signal: &str, pid: u32) {
    // One that is gone needs none.
    let mut kill = Command::new("kill");
    let _ = kill.args([signal, &pid.to_string()]).stderr(Stdio::null()).status();
}

/// What a log says from there on.
fn since_then(log: &Path, begins: u64) -> Option<String> {
    let mut file = fs::File::open(log).ok()?;
    file.seek(SeekFrom::Start(begins)).ok()?;
    let mut said = String::new();
    file.read_to_string(&mut said).ok()?;
    Some(said)
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

fn program(name: &str) -> Result<Command, String> {
    let programs = programs().ok_or("there is no initdb")?;
    Ok(as_user(&programs.join(name)))
}

/// Where its programs are: beside the `postgres` that `$TENURE_POSTGRES_SERVER` names, or where Debian keeps them out of
/// the way.
fn programs() -> Option<PathBuf> {
    if let Some(server) = env::var_os("TENURE_POSTGRES_SERVER").filter(|path| !path.is_empty()) {
        return PathBuf::from(server).parent().map(Path::to_owned);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut places: Vec<_> = versions.map(|version| version.path().join("bin")).collect();
    places.sort();
    places.reverse();
    places.extend(env::split_paths(&path));
    places
        .into_iter()
        .find(|place| ["initdb", "postgres"].iter().all(|name| place.join(name).is_file()))
}

/// As somebody whom these servers do not refuse.
fn as_user(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    let words = [format!("--reuid={USER}"), format!("--regid={USER}"), "--clear-groups".to_owned()];
    command.args(words).arg("--").arg(OsString::from(program));
    // Root's own folder is closed to it.
    command.current_dir("/");
    command
}
