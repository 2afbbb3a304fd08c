//! A PostgreSQL server on a free port of this machine.

use std::{
    env,
    ffi::OsString,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Command,
};

use super::{logged::Logged, redis::free_port};

/// Who it runs as where the tests run as root, which it refuses.
const USER: &str = "postgres";

/// A `postgres` of its own for one test. Dropping it ends the process and removes its folder.
#[derive(Debug)]
pub struct PostgresServer {
    folder: tempfile::TempDir,
    port: u16,
    process: Logged,
}

impl PostgresServer {
    /// A server with an empty database `tenure`, which trusts whoever connects from this machine.
    ///
    /// # Panics
    /// When there is no such program, or it does not start.
    #[must_use]
    #[allow(clippy::panic, reason = "a test without its server fails")]
    pub fn start() -> Self {
        match Self::try_start() {
            Ok(server) => server,
            Err(error) => panic!(
                "PostgreSQL does not start; install it with: apt-get install postgresql\n{error}"
            ),
        }
    }

    fn try_start() -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let programs = programs().ok_or("there is no initdb")?;
        let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
        let command = |program: &str| as_user(&programs.join(program), is_root);
        if is_root {
            run(Command::new("chown").arg(USER).arg(folder.path()))?;
        }
        let data = folder.path().join("data");
        let words =
            ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"];
        run(command("initdb").args(words).arg("-D").arg(&data))?;
        // As the only statement of a server that serves nobody yet.
        let create = format!(
            "echo 'CREATE DATABASE tenure' | '{}' --single -D '{}' postgres",
            programs.join("postgres").display(),
            data.display()
        );
        run(as_user(Path::new("/bin/sh"), is_root).args(["-c", &create]))?;
        let mut last = String::new();
        // Somebody else may take a port between its choice and its use.
        for _ in 0..5 {
            let port = free_port();
            let mut server = command("postgres");
            server.arg("-D").arg(&data).arg("-k").arg(folder.path());
            server.args(["-h", "127.0.0.1", "-p", &port.to_string()]);
            let log = folder.path().join("postgres.log");
            match Logged::start(&mut server, &log, "ready to accept connections") {
                Ok(process) => return Ok(Self { folder, port, process }),
                Err(said) => last = said,
            }
        }
        Err(last)
    }

    /// A URL of its database.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/tenure", self.port)
    }

    /// Its folder, with `postgres.log` in it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // At once, with the processes that it started.
        self.process.end("-QUIT");
    }
}

/// Where its programs are: Debian keeps them out of the way.
fn programs() -> Option<PathBuf> {
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

fn as_user(program: &Path, is_root: bool) -> Command {
    if !is_root {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    let words = [format!("--reuid={USER}"), format!("--regid={USER}"), "--clear-groups".to_owned()];
    command.args(words).arg("--").arg(OsString::from(program));
    // Root's own folder is closed to it.
    command.current_dir("/");
    command
}

pub(super) fn run(command: &mut Command) -> Result<(), String> {
    let done = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&done.stderr)))
}
