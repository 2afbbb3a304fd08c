//! A MariaDB server for the figures, which waits for its disk.

use std::{
    path::Path,
    sync::{Mutex, PoisonError},
};

use mysql_async::{Conn, prelude::Queryable};
use tenure_servers::MariadbServer;
use tokio::runtime::Runtime;

use super::{SAID, get_lock::GetLock, row::Row, session};
use crate::{
    contestants::runtime,
    failure::Failure,
    figures,
    process::cpu,
    servers::sql::{Database, Said},
};

/// What a figure depends on is said, though it is what the server does by itself. The last is for those who need a
/// session for each who waits.
const SETTINGS: [(&str, &str); 3] = [
    ("innodb_flush_log_at_trx_commit", "1"),
    ("innodb_doublewrite", "1"),
    ("max_connections", "400"),
];

/// A server that ends with this value.
pub(crate) struct Server {
    runtime: Runtime,
    admin: Mutex<Admin>,
    server: MariadbServer,
}

/// A session for questions, and how many were asked.
struct Admin {
    conn: Conn,
    asked: u64,
}

impl figures::Server for Server {
    const NAME: &'static str = "MariaDB";
    const CALLS: &'static str = "statements";

    fn start(dir: &Path) -> Result<Self, Failure> {
        let settings = SETTINGS.map(|(name, value)| format!("--{name}={value}"));
        let settings = settings.iter().map(String::as_str).chain(["--skip-log-bin"]);
        let server = MariadbServer::try_start_in(dir, &settings.collect::<Vec<_>>())?;
        let runtime = runtime()?;
        // In no database, so that it is not among the sessions that are counted.
        let conn = runtime.block_on(session::open(server.url().trim_end_matches("/tenure")))?;
        Ok(Self { runtime, admin: Mutex::new(Admin { conn, asked: 0 }), server })
    }

    fn url(&self) -> String {
        self.server.url()
    }

    fn cpu(&self) -> f64 {
        self.server.pid().map_or(f64::NAN, cpu::of)
    }

    fn calls_during<T>(
        &self,
        during: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<(T, f64), Failure> {
        let before = self.statements()?;
        let done = during()?;
        Ok((done, self.statements()? - before))
    }

    fn sessions(&self) -> Result<Option<f64>, Failure> {
        let (counted, _) = self.asked(
            "select cast(count(*) as char) from information_schema.processlist where db = 'tenure'",
        )?;
        Ok(Some(counted.parse()?))
    }
}

impl Database for Server {
    const SAID: Said = SAID;
    type Row = Row;
    type Own = GetLock;

    fn jdbc(&self) -> [String; 3] {
        let url = format!("jdbc:mariadb://127.0.0.1:{}/tenure", self.server.port());
        [url, "root".to_owned(), "TIMESTAMP(3)".to_owned()]
    }

    fn settings(&self) -> Result<String, Failure> {
        let (version, _) = self.asked("select version()")?;
        let version = version.split('-').next().unwrap_or_default().to_owned();
        let settings = SETTINGS.map(|(name, value)| format!("{name}={value}")).join(", ");
        Ok(format!("one MariaDB {version}, {settings}, without a binary log"))
    }
}

impl Server {
    /// How many statements it has run for others.
    fn statements(&self) -> Result<f64, Failure> {
        // Not those that prepare others.
        let (counted, own) = self.asked(
            "select variable_value from information_schema.global_status where variable_name = 'questions'",
        )?;
        Ok(counted.parse::<f64>()? - own as f64)
    }

    /// A text, and how many questions were asked here, this one among them.
    fn asked(&self, question: &str) -> Result<(String, u64), Failure> {
        let mut admin = self.admin.lock().unwrap_or_else(PoisonError::into_inner);
        admin.asked += 1;
        let asked = admin.asked;
        let answer = self.runtime.block_on(admin.conn.query_first(question))?;
        Ok((answer.ok_or("the server does not answer")?, asked))
    }
}
