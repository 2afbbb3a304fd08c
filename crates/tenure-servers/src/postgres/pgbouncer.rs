//! A PgBouncer on a free port of this machine.

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{PostgresServer, as_user};
use crate::{
    kept::{SupervisedProcess, run},
    port::free_port,
};

/// How long it may take to start.
const PATIENCE: Duration = Duration::from_secs(20);

/// A `pgbouncer` in transaction mode before a server. Dropping it ends the process and removes its folder; so
/// does the end of this program.
#[derive(Debug)]
pub struct PgBouncer {
    folder: tempfile::TempDir,
    port: u16,
    _process: SupervisedProcess,
}

impl PgBouncer {
    /// One with this many sessions at the server, and these lines more in its settings.
    ///
    /// # Panics
    /// When there is no such program, or it does not start.
    #[must_use]
    #[allow(clippy::panic, reason = "a test without its server fails")]
    pub fn start(server: &PostgresServer, sessions: u32, lines: &[&str]) -> Self {
        match Self::try_start(server, sessions, lines) {
            Ok(pooler) => pooler,
            Err(error) => panic!(
                "PgBouncer does not start; install it with: apt-get install pgbouncer\n{error:#}"
            ),
        }
    }

    fn try_start(server: &PostgresServer, sessions: u32, lines: &[&str]) -> Result<Self, String> {
        let program = program().ok_or("there is no pgbouncer")?;
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let file = folder.path().join("pgbouncer.ini");
        let (to, lines) = (server.port(), lines.join("\n"));
        let mut last = String::new();
        // Somebody else may take a port between its choice and its use.
        for _ in 0..5 {
            let port = free_port();
            let settings = format!(
                "[databases]\n* = host=127.0.0.1 port={to} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
                 listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n\
                 max_client_conn = 500\ndefault_pool_size = {sessions}\n{lines}\n"
            );
            fs::write(&file, settings).map_err(|error| error.to_string())?;
            run(Command::new("chmod").args(["-R", "a+rX"]).arg(folder.path()))?;
            let log = folder.path().join("pgbouncer.log");
            match started(as_user(&program).arg(&file), &log, folder.path()) {
                Ok(process) => return Ok(Self { folder, port, _process: process }),
                Err(said) => last = said,
            }
        }
        Err(last)
    }

    /// A URL of a database behind it.
    #[must_use]
    pub fn url_of(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// Its folder, with `pgbouncer.log` in it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

fn started(command: &mut Command, log: &Path, folder: &Path) -> Result<SupervisedProcess, String> {
    let said = |error: std::io::Error| error.to_string();
    let file = File::create(log).map_err(said)?;
    command.stdin(Stdio::null()).stdout(file.try_clone().map_err(said)?).stderr(file);
    let mut process = SupervisedProcess::start(command, folder).map_err(said)?;
    let since = Instant::now();
    loop {
        let said = fs::read_to_string(log).unwrap_or_default();
        if said.contains("process up") {
            return Ok(process);
        }
        if since.elapsed() > PATIENCE || !process.runs() {
            return Err(said);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn program() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let places = env::split_paths(&path).chain(["/usr/sbin".into()]);
    places.map(|place| place.join("pgbouncer")).find(|program| program.is_file())
}
