//! A PostgreSQL server for the figures, which waits for its disk.

use std::path::Path;

use nix::unistd::Uid;
use tenure_servers::PostgresServer;
use tokio::runtime::Runtime;
use tokio_postgres::Client;

use super::{SAID, advisory::Advisory, row::Row, session};
use crate::{
    contestants::runtime,
    failure::Failure,
    figures,
    process::cpu,
    servers::sql::{Database, Said},
};

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
    runtime: Runtime,
    /// In another database than all that is counted.
    admin: Client,
    server: PostgresServer,
}

impl figures::Server for Server {
    const NAME: &'static str = "PostgreSQL";
    const CALLS: &'static str = "statements";

    fn start(dir: &Path) -> Result<Self, Failure> {
        // A folder that only root may enter is closed to the user that it runs as.
        let within = dir.parent().filter(|_| Uid::effective().is_root()).unwrap_or(dir);
        let settings = SETTINGS.map(|(name, value)| format!("{name}={value}"));
        let settings: Vec<_> = settings.iter().map(String::as_str).collect();
        let server = PostgresServer::try_start_in(within, &settings)?;
        let runtime = runtime()?;
        let admin = runtime.block_on(async {
            let (admin, _) = session::open(&server.url_of("postgres")).await?;
            admin.batch_execute("create extension pg_stat_statements").await?;
            Ok::<_, Failure>(admin)
        })?;
        Ok(Self { runtime, admin, server })
    }

    fn url(&self) -> String {
        self.server.url()
    }

    fn cpu(&self) -> f64 {
        self.server.pid().map_or(f64::NAN, cpu::of_all)
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
        let sessions: i64 =
            self.asked("select count(*) from pg_stat_activity where datname = 'tenure'")?;
        Ok(Some(sessions as f64))
    }
}

impl Database for Server {
    const SAID: Said = SAID;
    type Row = Row;
    type Own = Advisory;

    fn jdbc(&self) -> [String; 3] {
        let url = format!("jdbc:postgresql://127.0.0.1:{}/tenure", self.server.port());
        [url, "postgres".to_owned(), "TIMESTAMP".to_owned()]
    }

    fn settings(&self) -> Result<String, Failure> {
        let version: String = self.asked("select current_setting('server_version')")?;
        let version = version.split(' ').next().unwrap_or_default().to_owned();
        let settings = SETTINGS.map(|(name, value)| format!("{name}={value}")).join(", ");
        Ok(format!("one PostgreSQL {version}, {settings}"))
    }
}

impl Server {
    /// How many statements it has run for others.
    fn statements(&self) -> Result<f64, Failure> {
        let counted: i64 = self.asked(
            "select coalesce(sum(calls), 0)::bigint from pg_stat_statements s
             join pg_database d on d.oid = s.dbid where d.datname = 'tenure'",
        )?;
        Ok(counted as f64)
    }

    fn asked<T>(&self, question: &str) -> Result<T, Failure>
    where
        T: for<'a> tokio_postgres::types::FromSql<'a>,
    {
        Ok(self.runtime.block_on(self.admin.query_one(question, &[]))?.try_get(0)?)
    }
}
