//! A MariaDB server for the figures, on a free port, that waits for its disk.

use std::{
    env,
    fs::{self, File},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
    thread::sleep,
    time::{Duration, Instant},
};

use mysql_async::{Conn, prelude::Queryable};
use nix::unistd::Uid;
use tokio::runtime::Runtime;

use super::{WORDS, get_lock::GetLock, row::Row, session};
use crate::{
    Failure,
    contestant::runtime,
    cpu,
    orphan::Watch,
    sql::{self, Words},
};

const CURE: &str = "install it with: apt-get install mariadb-server";

/// What a figure depends on is said, though it is what the server does by itself. The last is for those who need a
/// session for each who waits.
const SETTINGS: [(&str, &str); 3] = [
    ("innodb_flush_log_at_trx_commit", "1"),
    ("innodb_doublewrite", "1"),
    ("max_connections", "400"),
];

/// A server that ends with this value.
pub(crate) struct Server {
    // Ended before the process, which is waited for in `drop`.
    watch: Option<Watch>,
    process: Child,
    port: u16,
    _folder: tempfile::TempDir,
    runtime: Runtime,
    admin: Mutex<Admin>,
}

/// A session for questions, and how many were asked.
#[derive(Default)]
struct Admin {
    conn: Option<Conn>,
    asked: u64,
}

impl sql::Server for Server {
    const WORDS: Words = WORDS;
    type Row = Row;
    type Own = GetLock;

    fn start(dir: &Path) -> Result<Self, Failure> {
        let missing = || format!("there is no MariaDB; {CURE}");
        let [install, server] = [program("mariadb-install-db"), program("mariadbd")]
            .map(|found| found.ok_or_else(missing));
        let folder = tempfile::Builder::new().prefix("tenure-bench").tempdir_in(dir)?;
        let place = folder.path().canonicalize()?;
        let data = place.join("data");
        // Else it would become another user where root starts it, to whom the folder is closed.
        let user = Uid::effective().is_root().then_some("--user=root");
        let mut install = Command::new(install?);
        install.arg("--no-defaults").arg(format!("--datadir={}", data.display())).args(user);
        install.args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
        run(install.env("TMPDIR", &place))?;
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let mut server = Command::new(server?);
        server.env("TMPDIR", &place).arg("--no-defaults").args(user);
        server.args(["--bind-address=127.0.0.1", "--skip-name-resolve", "--skip-log-bin"]);
        server.arg(format!("--port={port}")).arg(format!("--datadir={}", data.display()));
        server.arg(format!("--socket={}", place.join("socket").display()));
        server.arg(format!("--pid-file={}", place.join("pid").display()));
        for (name, value) in SETTINGS {
            server.arg(format!("--{name}={value}"));
        }
        let log = place.join("log");
        let file = File::create(&log)?;
        server.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let process = server.spawn().map_err(|error| format!("{server:?}: {error:#}"))?;
        let watch = Some(Watch::over(process.id())?);
        let (runtime, admin) = (runtime()?, Mutex::default());
        let mut server = Self { watch, process, port, _folder: folder, runtime, admin };
        let since = Instant::now();
        while let Err(error) = server.connect(&data) {
            let ended = server.process.try_wait()?.is_some();
            if ended || since.elapsed() > Duration::from_secs(60) {
                let said = fs::read_to_string(log)?;
                return Err(format!("MariaDB does not start; {CURE}\n{error:#}\n{said}").into());
            }
            sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    fn url(&self) -> String {
        format!("mysql://root@127.0.0.1:{}/tenure", self.port)
    }

    fn jdbc(&self) -> [String; 3] {
        let url = format!("jdbc:mariadb://127.0.0.1:{}/tenure", self.port);
        [url, "root".to_owned(), "TIMESTAMP(3)".to_owned()]
    }

    fn settings(&self) -> Result<String, Failure> {
        let (version, _) = self.asked("select version()")?;
        let version = version.split('-').next().unwrap_or_default().to_owned();
        let settings = SETTINGS.map(|(name, value)| format!("{name}={value}")).join(", ");
        Ok(format!("one MariaDB {version}, {settings}, without a binary log"))
    }

    fn statements(&self) -> Result<f64, Failure> {
        // Not those that prepare others.
        let (counted, own) = self.asked(
            "select variable_value from information_schema.global_status where variable_name = 'questions'",
        )?;
        Ok(counted.parse::<f64>()? - own as f64)
    }

    fn sessions(&self) -> Result<f64, Failure> {
        let (counted, _) = self.asked(
            "select cast(count(*) as char) from information_schema.processlist where db = 'tenure'",
        )?;
        Ok(counted.parse()?)
    }

    fn cpu(&self) -> f64 {
        cpu::of(self.process.id())
    }
}

impl Server {
    /// Connects, and makes the database.
    fn connect(&mut self, data: &Path) -> Result<(), Failure> {
        let url = format!("mysql://root@127.0.0.1:{}", self.port);
        let conn = self.runtime.block_on(async {
            let mut conn = session::open(&url).await?;
            let there: Option<String> = conn.query_first("select @@datadir").await?;
            // Somebody else may have taken the port meanwhile.
            if there.is_none_or(|there| Path::new(&there) != data) {
                return Err(Failure::from("another server listens there"));
            }
            conn.query_drop("create database tenure").await?;
            Ok(conn)
        })?;
        self.admin = Mutex::new(Admin { conn: Some(conn), asked: 0 });
        Ok(())
    }

    /// A text, and how many questions were asked here, this one among them.
    fn asked(&self, question: &str) -> Result<(String, u64), Failure> {
        let mut admin = self.admin.lock().unwrap_or_else(PoisonError::into_inner);
        admin.asked += 1;
        let asked = admin.asked;
        let conn = admin.conn.as_mut().ok_or("the server is not asked yet")?;
        let answer = self.runtime.block_on(conn.query_first(question))?;
        Ok((answer.ok_or("the server does not answer")?, asked))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.watch = None;
        // Its data is thrown away, so it need not be left in order.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let places = env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/libexec".into()]);
    places.map(|place| place.join(name)).find(|program| program.is_file())
}

fn run(command: &mut Command) -> Result<(), Failure> {
    let done = command.output().map_err(|error| format!("{command:?}: {error:#}"))?;
    if done.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&done.stderr)).into())
}
