//! A Redis server on a free port of this machine.

mod cluster;
mod reply;
mod sentinel;

pub use cluster::RedisCluster;
pub use reply::Reply;
pub use sentinel::SentinelService;

use std::{
    ffi::{OsStr, OsString},
    io,
    net::SocketAddr,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use self::reply::{command, send};
use crate::{
    certificates::Certificates,
    kept::SupervisedProcess,
    port::free_port,
    preload::{self, Partition},
};

/// The name of its own file of settings.
const FILE: &str = "redis.conf";

/// How long a server may take to answer its first PING, on a busy machine and after it has read its data.
const PATIENCE: Duration = Duration::from_secs(60);

/// A `redis-server` of its own for one test. Dropping it ends the process and removes its folder; so does
/// the end of this program.
#[derive(Debug)]
pub struct RedisServer {
    program: OsString,
    folder: tempfile::TempDir,
    settings: Vec<String>,
    port: u16,
    tls_port: Option<u16>,
    /// Whether it has a file of settings that it writes to.
    has_file: bool,
    /// By how many seconds its clock is behind.
    behind: u32,
    /// Its network, if that can be parted.
    side: Option<Partition>,
    process: Option<SupervisedProcess>,
}

/// How one of several servers is run.
#[derive(Debug, Default)]
pub(super) struct NodeOptions {
    /// By how many seconds its clock is behind.
    pub(super) behind: u32,
    pub(super) tls: bool,
    pub(super) side: Option<Partition>,
}

impl RedisServer {
    /// A server without persistence. The binary is `$TENURE_REDIS_SERVER`, or `redis-server`.
    ///
    /// # Panics
    /// When there is no such binary, or it does not start.
    #[must_use]
    pub fn start() -> Self {
        Self::with(&["--save", "", "--appendonly", "no"])
    }

    /// A server with these settings, written as on its command line.
    ///
    /// # Panics
    /// As [`RedisServer::start`].
    #[must_use]
    pub fn with(settings: &[&str]) -> Self {
        Self::on_free_ports(settings, false)
    }

    /// A server that speaks TLS too, and wants a certificate of every client over TLS if asked to.
    ///
    /// # Panics
    /// As [`RedisServer::start`].
    #[must_use]
    pub fn with_tls(certificates: &Certificates, of_clients: bool) -> Self {
        let of_tls = settings_of_tls(certificates, of_clients);
        let settings: Vec<_> = of_tls.iter().map(String::as_str).chain(["--save", ""]).collect();
        Self::on_free_ports(&settings, true)
    }

    /// A server with these settings whose clock is behind by so many seconds.
    ///
    /// # Panics
    /// As [`RedisServer::start`], and without a C compiler.
    #[must_use]
    pub fn behind(seconds: u32, settings: &[&str]) -> Self {
        Self::on_free_ports_behind(seconds, settings, false)
    }

    fn on_free_ports(settings: &[&str], tls: bool) -> Self {
        Self::on_free_ports_behind(0, settings, tls)
    }

    #[allow(clippy::panic, reason = "a test without its server fails")]
    fn on_free_ports_behind(behind: u32, settings: &[&str], tls: bool) -> Self {
        let folder = match tempfile::tempdir() {
            Ok(folder) => folder,
            Err(error) => panic!("no folder for a server: {error:#}"),
        };
        let server = Self::unstarted(folder, settings, behind);
        server.on_any_port(tls).unwrap_or_else(|error| panic!("{error}"))
    }

    /// A server by this program, with these settings and a folder in `dir`.
    ///
    /// # Errors
    /// When it does not start.
    pub fn try_start_in(dir: &Path, program: &OsStr, settings: &[&str]) -> Result<Self, String> {
        let folder = tempfile::tempdir_in(dir).map_err(|error| error.to_string())?;
        let mut server = Self::unstarted(folder, settings, 0);
        program.clone_into(&mut server.program);
        server.on_any_port(false)
    }

    fn on_any_port(mut self, tls: bool) -> Result<Self, String> {
        // Somebody else may take a port between its choice and its use.
        for _ in 0..10 {
            self.port = free_port();
            self.tls_port = tls.then(free_port);
            if self.spawn() {
                return Ok(self);
            }
        }
        let program = self.program.display();
        Err(format!("{program} does not start; install it with: apt-get install redis-server"))
    }

    /// The same, once; nothing if it does not start, as with a port in its settings that was taken.
    pub(super) fn try_as(node: NodeOptions, settings: &[&str]) -> Option<Self> {
        let mut server = Self::unstarted(tempfile::tempdir().ok()?, settings, node.behind);
        server.port = free_port();
        server.tls_port = node.tls.then(free_port);
        server.side = node.side;
        server.spawn().then_some(server)
    }

    fn unstarted(folder: tempfile::TempDir, settings: &[&str], behind: u32) -> Self {
        let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
        let (port, tls_port, has_file, process) = (0, None, false, None);
        let named = std::env::var_os("TENURE_REDIS_SERVER").filter(|path| !path.is_empty());
        let program = named.unwrap_or("redis-server".into());
        Self { program, folder, settings, port, tls_port, has_file, behind, side: None, process }
    }

    /// A server on this port, which has to be free, with a file of settings that it may write to.
    pub(super) fn with_file(port: u16, settings: &[&str], file: &str) -> Option<Self> {
        let folder = tempfile::tempdir().ok()?;
        std::fs::write(folder.path().join(FILE), file).ok()?;
        let mut server = Self::unstarted(folder, settings, 0);
        (server.port, server.has_file) = (port, true);
        server.spawn().then_some(server)
    }

    /// Ends the process as `kill -9` does.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Stops the process, which keeps its connections and answers nothing, until what this returns is
    /// dropped.
    ///
    /// # Panics
    /// When it does not run.
    pub fn freeze(&self) -> FrozenRedis<'_> {
        self.signal("-STOP");
        FrozenRedis(self)
    }

    /// Sends a signal as `kill` names it.
    fn signal(&self, signal: &str) {
        let Some(pid) = self.pid() else { return };
        let sent = Command::new("kill").args([signal, &pid.to_string()]).status();
        assert!(sent.is_ok_and(|sent| sent.success()), "the server gets no signal");
    }

    /// Starts the process again, on the same port and in the same folder.
    ///
    /// # Panics
    /// When it does not start.
    pub fn restart(&mut self) {
        self.kill();
        assert!(self.spawn(), "redis-server does not start again");
    }

    /// From now on it reaches none of these ports, if its network can be parted.
    pub(super) fn part_from(&self, ports: impl IntoIterator<Item = u16>) {
        if let Some(side) = &self.side {
            side.part_from(ports);
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// A URL of it over TLS, if it speaks that; the host is the one in its certificate.
    #[must_use]
    pub fn tls_url(&self) -> Option<String> {
        Some(format!("rediss://{}/0", self.tls_place()?))
    }

    /// Where it listens for TLS, by the name in its certificate.
    pub(super) fn tls_place(&self) -> Option<String> {
        self.tls_port.map(|port| format!("localhost:{port}"))
    }

    /// Its unix socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("redis.sock")
    }

    /// Its folder, with `redis.log` in it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Its process number, for signals; `None` when it does not run.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(SupervisedProcess::id)
    }

    /// A URL of it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://{}/0", self.address())
    }

    /// Sends one command as an administrator would, again if its connection breaks: only commands
    /// that may be repeated.
    ///
    /// # Panics
    /// When the server cannot be reached.
    #[allow(clippy::panic, reason = "a test without its server fails")]
    pub fn command<S: AsRef<str>>(&self, words: &[S]) -> Reply {
        let mut tries = 0;
        loop {
            match command(self.address(), words) {
                Ok(reply) => return reply,
                // A test that kills clients may kill this one too.
                Err(_) if tries < 20 => tries += 1,
                Err(error) => panic!("the server does not answer: {error:#}"),
            }
        }
    }

    /// Whether this replica has all that was written there. One that follows gets nothing for up to a second after its
    /// first copy.
    pub(super) fn has_all_of(&self, primary: &Self) -> bool {
        // Where a password is asked for nothing is told.
        let Some(written) = primary.offset() else { return true };
        self.offset().is_some_and(|has| has >= written)
    }

    /// How much was written there, or came from its primary.
    fn offset(&self) -> Option<u64> {
        let Reply::Text(told) = self.command(&["INFO", "replication"]) else { return None };
        let offset = told.lines().find_map(|line| line.strip_prefix("master_repl_offset:"))?;
        offset.parse().ok()
    }

    /// The names of all keys.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        let Reply::List(keys) = self.command(&["KEYS", "*"]) else { return Vec::new() };
        let text = |key| if let Reply::Text(key) = key { Some(key) } else { None };
        let mut keys: Vec<_> = keys.into_iter().filter_map(text).collect();
        keys.sort_unstable();
        keys
    }

    fn spawn(&mut self) -> bool {
        let mut words = Command::new(&self.program);
        if self.has_file {
            words.arg(self.folder.path().join(FILE));
        }
        words.arg("--port").arg(self.port.to_string());
        words.args(["--bind", "127.0.0.1", "--daemonize", "no", "--enable-debug-command", "local"]);
        words.arg("--dir").arg(self.folder.path());
        words.arg("--logfile").arg(self.folder.path().join("redis.log"));
        words.arg("--unixsocket").arg(self.socket());
        if let Some(port) = self.tls_port {
            words.arg("--tls-port").arg(port.to_string());
        }
        words.args(&self.settings);
        if self.behind > 0 {
            preload::set_clock_behind(&mut words, self.behind, self.folder.path());
        }
        if let Some(side) = &self.side {
            side.join(&mut words);
        }
        words.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(process) = SupervisedProcess::start(&mut words, self.folder.path()) else {
            return false;
        };
        self.process = Some(process);
        let since = Instant::now();
        while since.elapsed() < PATIENCE {
            if !self.process.as_mut().is_some_and(SupervisedProcess::runs) {
                return false;
            }
            // On its own socket: on the port another server may answer that was faster, until this one
            // finds it taken. One that asks for a password, or still loads, answers too.
            if self.pings().is_ok_and(
                |reply| !matches!(&reply, Reply::Error(error) if error.starts_with("LOADING")),
            ) {
                return true;
            }
            thread::sleep(Duration::from_millis(5));
        }
        false
    }

    fn pings(&self) -> io::Result<Reply> {
        let stream = UnixStream::connect(self.socket())?;
        stream.set_read_timeout(Some(PATIENCE))?;
        send(stream, &["PING"])
    }
}

/// A server that is stopped; it goes on when this is dropped.
#[derive(Debug)]
#[must_use = "the server goes on when it is dropped"]
pub struct FrozenRedis<'a>(&'a RedisServer);

impl Drop for FrozenRedis<'_> {
    fn drop(&mut self) {
        self.0.signal("-CONT");
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        // Before its folder goes.
        self.kill();
    }
}

/// Settings of a server that shows the certificate of these, also when it calls another one.
pub(super) fn settings_of_tls(certificates: &Certificates, of_clients: bool) -> [String; 8] {
    let file = |name| certificates.file(name).display().to_string();
    let wanted = if of_clients { "yes" } else { "no" };
    [
        "--tls-cert-file".to_owned(),
        file("server.pem"),
        "--tls-key-file".to_owned(),
        file("server.key"),
        "--tls-ca-cert-file".to_owned(),
        file("ca.pem"),
        "--tls-auth-clients".to_owned(),
        wanted.to_owned(),
    ]
}
