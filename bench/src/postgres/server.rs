//! A PostgreSQL server for the figures, on a free port, that waits for its disk.

use std::{
    env,
    ffi::OsStr,
    fs::{self, File},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::{Pid, Uid},
};
use tokio::runtime::Runtime;
use tokio_postgres::Client;

use super::{WORDS, advisory::Advisory, row::Row, session};
use crate::{
    Failure,
    contestant::runtime,
    cpu,
    orphan::Watch,
    sql::{self, Words},
};

/// Who it runs as where this runs as root, which it refuses.
const USER: &str = "postgres";

const CURE: &str = "install it with: apt-get install postgresql";

/// What a figure depends on is said, though it is what the server does by itself. The rest is for counting, and for
/// those who need a session for each who waits.
const SETTINGS: [(&str, &str); 5] = [
    ("fsync", "on"),
    ("synchronous_commit", "on"),
    ("full_page_writes", "on"),
    ("max_connections", "400"),
    ("shared_preload_libraries", "pg_stat_statements"),
];

/// A server that ends with this value.
pub(crate) struct Server {
    // Ended before the process, which is waited for in `drop`.
    watch: Option<Watch>,
    process: Child,
    port: u16,
    _folder: tempfile::TempDir,
    runtime: Runtime,
    /// In another database than all that is counted.
    admin: Option<Client>,
}

impl sql::Server for Server {
    const WORDS: Words = WORDS;
    type Row = Row;
    type Own = Advisory;

    fn start(dir: &Path) -> Result<Self, Failure> {
        let programs = programs().ok_or_else(|| format!("there is no initdb; {CURE}"))?;
        let is_root = Uid::effective().is_root();
        // A folder that only root may enter is closed to the user that it runs as.
        let within = dir.parent().filter(|_| is_root).unwrap_or(dir);
        let folder = tempfile::Builder::new().prefix("tenure-bench").tempdir_in(within)?;
        if is_root {
            run(Command::new("chown").arg(USER).arg(folder.path()))?;
        }
        let command = |program: &str| as_user(&programs.join(program), is_root);
        let data = folder.path().canonicalize()?.join("data");
        let words = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale"];
        run(command("initdb").args(words).arg("-D").arg(&data))?;
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let mut server = command("postgres");
        server.arg("-D").arg(&data).arg("-k").arg(folder.path());
        server.args(["-h", "127.0.0.1", "-p", &port.to_string()]);
        for (name, value) in SETTINGS {
            server.args(["-c", &format!("{name}={value}")]);
        }
        let log = File::create(folder.path().join("log"))?;
        server.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let process = server.spawn().map_err(|error| format!("{server:?}: {error:#}"))?;
        let watch = Some(Watch::over(process.id())?);
        let log = folder.path().join("log");
        let runtime = runtime()?;
        let mut server = Self { watch, process, port, _folder: folder, runtime, admin: None };
        let since = Instant::now();
        while let Err(error) = server.connect(&data) {
            let ended = server.process.try_wait()?.is_some();
            if ended || since.elapsed() > Duration::from_secs(60) {
                let said = fs::read_to_string(log)?;
                return Err(format!("PostgreSQL does not start; {CURE}\n{error:#}\n{said}").into());
            }
            sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    fn url(&self) -> String {
        self.url_of("tenure")
    }

    fn jdbc(&self) -> [String; 3] {
        let url = format!("jdbc:postgresql://127.0.0.1:{}/tenure", self.port);
        [url, USER.to_owned(), "TIMESTAMP".to_owned()]
    }

    fn settings(&self) -> Result<String, Failure> {
        let version: String = self.asked("select current_setting('server_version')")?;
        let version = version.split(' ').next().unwrap_or_default().to_owned();
        let settings = SETTINGS.map(|(name, value)| format!("{name}={value}")).join(", ");
        Ok(format!("one PostgreSQL {version}, {settings}"))
    }

    fn statements(&self) -> Result<f64, Failure> {
        let counted: i64 = self.asked(
            "select coalesce(sum(calls), 0)::bigint from pg_stat_statements s
             join pg_database d on d.oid = s.dbid where d.datname = 'tenure'",
        )?;
        Ok(counted as f64)
    }

    fn sessions(&self) -> Result<f64, Failure> {
        let sessions: i64 =
            self.asked("select count(*) from pg_stat_activity where datname = 'tenure'")?;
        Ok(sessions as f64)
    }

    fn cpu(&self) -> f64 {
        cpu::of_all(self.process.id())
    }
}

impl Server {
    /// Connects, and makes the database.
    fn connect(&mut self, data: &Path) -> Result<(), Failure> {
        let url = self.url_of("postgres");
        let admin = self.runtime.block_on(async {
            let (admin, _) = session::open(&url).await?;
            let there: String = admin.query_one("show data_directory", &[]).await?.try_get(0)?;
            // Somebody else may have taken the port meanwhile.
            if Path::new(&there) != data {
                return Err(Failure::from("another server listens there"));
            }
            admin.batch_execute("create database tenure").await?;
            admin.batch_execute("create extension pg_stat_statements").await?;
            Ok(admin)
        })?;
        self.admin = Some(admin);
        Ok(())
    }

    fn url_of(&self, database: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{database}", self.port)
    }

    fn asked<T>(&self, question: &str) -> Result<T, Failure>
    where
        T: for<'a> tokio_postgres::types::FromSql<'a>,
    {
        let admin = self.admin.as_ref().ok_or("the server is not asked yet")?;
        Ok(self.runtime.block_on(admin.query_one(question, &[]))?.try_get(0)?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.watch = None;
        // At once, with the processes that it started.
        if let Ok(process) = i32::try_from(self.process.id()) {
            let _ = kill(Pid::from_raw(process), Signal::SIGQUIT);
        }
        let _ = self.process.wait();
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
    let has_both = |place: &PathBuf| {
        ["initdb", "postgres"].iter().all(|program| place.join(program).is_file())
    };
    places.into_iter().find(has_both)
}

fn as_user(program: &Path, is_root: bool) -> Command {
    if !is_root {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    let words = [format!("--reuid={USER}"), format!("--regid={USER}"), "--clear-groups".to_owned()];
    command.args(words).args([OsStr::new("--"), program.as_os_str()]);
    // Root's own folder is closed to it.
    command.current_dir("/");
    command
}

fn run(command: &mut Command) -> Result<(), Failure> {
    let done = command.output().map_err(|error| format!("{command:?}: {error:#}"))?;
    if done.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&done.stderr)).into())
}
