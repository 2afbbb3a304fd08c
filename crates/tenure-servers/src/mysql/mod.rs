//! A MariaDB or MySQL server on a free port of this machine.

mod mysqld;

use std::{env, path::Path, process::Command};

use self::mysqld::Mysqld;
use crate::{logged::LoggedProcess, port::free_port};

/// A `mariadbd` of its own for one test, or the MySQL server that `$TENURE_MYSQL_SERVER` names. Dropping it ends the
/// process and removes its folder.
#[derive(Debug)]
pub struct MariadbServer {
    make: Mysqld,
    folder: tempfile::TempDir,
    port: u16,
    options: Vec<String>,
    process: Option<LoggedProcess>,
}

impl MariadbServer {
    /// A server with an empty database `tenure`, whose `root` has no password.
    ///
    /// # Panics
    /// When there is no such program, or it does not start.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// The same with more options, as they are written on the command line.
    ///
    /// # Panics
    /// When there is no such program, or it does not start.
    #[must_use]
    #[allow(clippy::panic, reason = "a test without its server fails")]
    pub fn start_with(options: &[&str]) -> Self {
        Self::try_start(&env::temp_dir(), Mysqld::chosen(), options)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// A MariaDB with a folder in `dir` and these options, also where `$TENURE_MYSQL_SERVER` names another server.
    ///
    /// # Errors
    /// When there is no such program, or it does not start.
    pub fn try_start_in(dir: &Path, options: &[&str]) -> Result<Self, String> {
        Self::try_start(dir, Mysqld::mariadb(), options)
    }

    fn try_start(dir: &Path, make: Mysqld, options: &[&str]) -> Result<Self, String> {
        let help = make.help();
        Self::started(dir, make, options).map_err(|error| format!("{help}\n{error}"))
    }

    fn started(dir: &Path, make: Mysqld, options: &[&str]) -> Result<Self, String> {
        let folder = tempfile::tempdir_in(dir).map_err(|error| error.to_string())?;
        make.install(folder.path())?;
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        let mut server = Self { make, folder, port: 0, options, process: None };
        let mut last = String::new();
        // Somebody else may take a port between its choice and its use.
        for _ in 0..5 {
            server.port = free_port();
            match server.run() {
                Ok(()) => return Ok(server),
                Err(said) => last = said,
            }
        }
        Err(last)
    }

    fn run(&mut self) -> Result<(), String> {
        let folder = self.folder.path();
        let mut command = self.make.command(folder)?;
        command.args(["--bind-address=127.0.0.1", "--skip-name-resolve"]);
        command.arg(format!("--port={}", self.port));
        command.arg(format!("--datadir={}", folder.join("data").display()));
        command.arg(format!("--socket={}", folder.join("mariadb.sock").display()));
        command.arg(format!("--pid-file={}", folder.join("mariadb.pid").display()));
        command.arg(format!("--init-file={}", folder.join("first.sql").display()));
        command.args(&self.options);
        let log = folder.join("mariadb.log");
        self.process = Some(LoggedProcess::start(&mut command, &log, "ready for connections")?);
        Ok(())
    }

    /// Ends it as a crash does, if it runs.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.end("-KILL");
        }
    }

    /// Starts it again on what it has on disk.
    ///
    /// # Panics
    /// When it does not start.
    pub fn restart(&mut self) {
        self.kill();
        let started = self.run();
        assert!(started.is_ok(), "it does not start again: {started:?}");
    }

    /// Stops it where it stands, with all of its connections, until [`go_on`](Self::go_on).
    pub fn freeze(&self) {
        self.signal("-STOP");
    }

    /// Lets it go on.
    pub fn go_on(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        if let Some(process) = &self.process {
            let _ = Command::new("kill").args([signal, &process.id().to_string()]).status();
        }
    }

    /// Whether it is MySQL, and not MariaDB.
    #[must_use]
    pub fn is_mysql(&self) -> bool {
        matches!(self.make, Mysqld::Mysql(_))
    }

    /// Its process, if it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(LoggedProcess::id)
    }

    /// Where it listens.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
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
        self.kill();
    }
}
