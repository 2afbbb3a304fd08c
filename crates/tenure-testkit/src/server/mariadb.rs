//! A MariaDB server on a free port of this machine.

use std::{
    env, fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Command,
};

use super::{logged::Logged, postgres::run, redis::free_port};

/// A `mariadbd` of its own for one test. Dropping it ends the process and removes its folder.
#[derive(Debug)]
pub struct MariadbServer {
    folder: tempfile::TempDir,
    port: u16,
    process: Logged,
}

impl MariadbServer {
    /// A server with an empty database `tenure`, whose `root` has no password.
    ///
    /// # Panics
    /// When there is no such program, or it does not start.
    #[must_use]
    #[allow(clippy::panic, reason = "a test without its server fails")]
    pub fn start() -> Self {
        match Self::try_start() {
            Ok(server) => server,
            Err(error) => panic!(
                "MariaDB does not start; install it with: apt-get install mariadb-server\n{error}"
            ),
        }
    }

    fn try_start() -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let server = program("mariadbd").ok_or("there is no mariadbd")?;
        let data = folder.path().join("data");
        let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
        // Else it would become another user, to whom the folder is closed.
        let user: &[&str] = if is_root { &["--user=root"] } else { &[] };
        let install = program("mariadb-install-db").ok_or("there is no mariadb-install-db")?;
        run(Command::new(install)
            .arg("--no-defaults")
            .args(["--auth-root-authentication-method=normal", "--skip-test-db"])
            .arg(format!("--datadir={}", data.display()))
            .args(user))?;
        let first = folder.path().join("first.sql");
        fs::write(&first, "CREATE DATABASE IF NOT EXISTS tenure;\n")
            .map_err(|error| error.to_string())?;
        let mut last = String::new();
        // Somebody else may take a port between its choice and its use.
        for _ in 0..5 {
            let port = free_port();
            let mut command = Command::new(&server);
            command.arg("--no-defaults").args(user);
            command.args(["--bind-address=127.0.0.1", "--skip-name-resolve"]);
            command.arg(format!("--port={port}")).arg(format!("--datadir={}", data.display()));
            command.arg(format!("--socket={}", folder.path().join("mariadb.sock").display()));
            command.arg(format!("--pid-file={}", folder.path().join("mariadb.pid").display()));
            command.arg(format!("--init-file={}", first.display()));
            let log = folder.path().join("mariadb.log");
            match Logged::start(&mut command, &log, "ready for connections") {
                Ok(process) => return Ok(Self { folder, port, process }),
                Err(said) => last = said,
            }
        }
        Err(last)
    }

    /// A URL of its database.
    #[must_use]
    pub fn url(&self) -> String {
        format!("mysql://root@127.0.0.1:{}/tenure", self.port)
    }

    /// Its folder, with `mariadb.log` in it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for MariadbServer {
    fn drop(&mut self) {
        // Its data is thrown away, so it need not be left in order.
        self.process.end("-KILL");
    }
}

fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let places = env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/libexec".into()]);
    places.map(|place| place.join(name)).find(|program| program.is_file())
}
