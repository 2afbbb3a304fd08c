//! A file of SQLite.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use rusqlite::{Connection, TransactionBehavior, params_from_iter};
use tokio::{sync::Semaphore, task};

use super::{DatabaseError, Engine, Outcome, Statement, Step, TABLES, Written};

/// How long a writer waits for those of other processes.
const PATIENCE: Duration = Duration::from_secs(10);

/// Readers at a time: each is a thread.
const READERS: usize = 4;

pub(super) struct Sqlite {
    connections: Arc<Connections>,
    readers: Semaphore,
    /// SQLite lets one write at a time; those of this process wait here rather than by sleeping.
    writer: Semaphore,
}

struct Connections {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Sqlite {
    pub(super) async fn open(path: &str) -> Outcome<Self> {
        if path.is_empty() || path.starts_with(":memory:") {
            let what = "name a file, which all instances share: sqlite:PATH";
            return Err(DatabaseError::new("sqlite:", what));
        }
        let path = Path::new(path.trim_start_matches("//")).to_owned();
        let connections = Arc::new(Connections { path, idle: Mutex::default() });
        let sqlite =
            Self { connections, readers: Semaphore::new(READERS), writer: Semaphore::new(1) };
        sqlite
            .with(|connection| TABLES.iter().try_for_each(|table| connection.execute_batch(table)))
            .await?;
        Ok(sqlite)
    }

    /// Runs something on a thread where it may block.
    async fn with<T: Send + 'static>(
        &self,
        run: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Outcome<T> {
        let connections = self.connections.clone();
        let ran = task::spawn_blocking(move || {
            let mut connection = connections.take()?;
            let ran = run(&mut connection)?;
            connections.put(connection);
            Ok::<_, rusqlite::Error>(ran)
        });
        match ran.await {
            Ok(ran) => ran.map_err(|error| self.error(error)),
            Err(error) => Err(self.error(error)),
        }
    }

    fn error(&self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> DatabaseError {
        DatabaseError::new(&format!("sqlite:{}", self.connections.path.display()), cause)
    }
}

impl Connections {
    fn take(&self) -> rusqlite::Result<Connection> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(connection) = idle {
            return Ok(connection);
        }
        let connection = Connection::open(&self.path)?;
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        Ok(connection)
    }

    fn put(&self, connection: Connection) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}

#[async_trait]
impl Engine for Sqlite {
    async fn rows(&self, query: &'static str, values: &[i64]) -> Outcome<Vec<Vec<i64>>> {
        let _permit = self.readers.acquire().await;
        let values = values.to_vec();
        self.with(move |connection| {
            let mut statement = connection.prepare_cached(query)?;
            let columns = statement.column_count();
            let rows = statement.query_map(params_from_iter(values), |row| {
                (0..columns).map(|column| row.get(column)).collect()
            })?;
            rows.collect()
        })
        .await
    }

    async fn transact(&self, steps: &[Step]) -> Outcome<Written> {
        let _permit = self.writer.acquire().await;
        let steps = steps.to_vec();
        self.with(move |connection| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for step in &steps {
                let text = match step.statement {
                    Statement::Plain(text) => text.to_owned(),
                    Statement::InsertNew(rest) => format!("INSERT OR IGNORE INTO {rest}"),
                };
                let mut statement = transaction.prepare_cached(&text)?;
                let changed = statement.execute(params_from_iter(&step.values))?;
                if let (0, Some(written)) = (changed, step.otherwise) {
                    return Ok(written);
                }
            }
            transaction.commit()?;
            Ok(Written::Done)
        })
        .await
    }
}
