//! PostgreSQL.

use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use tokio::time::timeout;
use tokio_postgres::{Config, NoTls, error::SqlState, types::ToSql};

use super::{ANSWER, DatabaseError, Engine, Outcome, Statement, Step, TABLES, Written};

/// Connections of one instance.
const CONNECTIONS: usize = 16;

/// How long it is waited for one of them.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct Postgres {
    pool: Pool,
    place: String,
}

impl Postgres {
    pub(super) async fn open(url: &str) -> Outcome<Self> {
        let config: Config = url.parse().map_err(|error| DatabaseError::new("postgres:", error))?;
        // The name alone: a password may stand in the rest.
        let place = format!("postgres:{}", config.get_dbname().unwrap_or_default());
        let recycled = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(config, NoTls, recycled);
        let pool = Pool::builder(manager)
            .max_size(CONNECTIONS)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(PATIENCE))
            .create_timeout(Some(PATIENCE))
            .build()
            .map_err(|error| DatabaseError::new(&place, error))?;
        let postgres = Self { pool, place };
        let client = postgres.client().await?;
        // Two instances that make one table at the same time would get in each other's way.
        let lock = "SELECT pg_advisory_lock(hashtext('flash_sale'))";
        let unlock = "SELECT pg_advisory_unlock(hashtext('flash_sale'))";
        for text in [lock].into_iter().chain(TABLES).chain([unlock]) {
            client.batch_execute(text).await.map_err(|error| postgres.error(error))?;
        }
        drop(client);
        Ok(postgres)
    }

    async fn client(&self) -> Outcome<Object> {
        self.pool.get().await.map_err(|error| self.error(error))
    }

    fn error(&self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> DatabaseError {
        let cause = cause.into();
        let code = cause.downcast_ref::<tokio_postgres::Error>().and_then(|error| error.code());
        let conflicts = [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE];
        let is_conflict = code.is_some_and(|code| conflicts.contains(code));
        DatabaseError { is_conflict, ..DatabaseError::new(&self.place, cause) }
    }

    /// Nobody uses a connection again that still owes an answer.
    fn given_up(&self, client: Object) -> DatabaseError {
        drop(Object::take(client));
        self.error("it did not answer in time")
    }
}

#[async_trait]
impl Engine for Postgres {
    async fn rows(&self, query: &'static str, values: &[i64]) -> Outcome<Vec<Vec<i64>>> {
        let client = self.client().await?;
        let run = async {
            let statement = client.prepare_cached(&numbered(query)).await?;
            let rows = client.query(&statement, &parameters(values)).await?;
            rows.iter()
                .map(|row| (0..row.len()).map(|column| row.try_get(column)).collect())
                .collect::<Result<_, tokio_postgres::Error>>()
        };
        match timeout(ANSWER, run).await {
            Ok(rows) => rows.map_err(|error| self.error(error)),
            Err(_) => Err(self.given_up(client)),
        }
    }

    async fn transact(&self, steps: &[Step]) -> Outcome<Written> {
        let mut client = self.client().await?;
        let run = async {
            let transaction = client.transaction().await?;
            for step in steps {
                let text = match step.statement {
                    Statement::Plain(text) => text.to_owned(),
                    Statement::InsertNew(rest) => {
                        format!("INSERT INTO {rest} ON CONFLICT DO NOTHING")
                    }
                };
                let statement = transaction.prepare_cached(&numbered(&text)).await?;
                let changed = transaction.execute(&statement, &parameters(&step.values)).await?;
                if let (0, Some(written)) = (changed, step.otherwise) {
                    transaction.rollback().await?;
                    return Ok(written);
                }
            }
            transaction.commit().await?;
            Ok::<_, tokio_postgres::Error>(Written::Done)
        };
        match timeout(ANSWER, run).await {
            Ok(written) => written.map_err(|error| self.error(error)),
            Err(_) => Err(self.given_up(client)),
        }
    }
}

fn parameters<T: ToSql + Sync>(values: &[T]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as _).collect()
}

/// `?` as PostgreSQL writes it: `$1`, `$2` …
fn numbered(text: &str) -> String {
    let mut parts = text.split('?');
    let mut numbered = parts.next().unwrap_or_default().to_owned();
    for (number, part) in (1..).zip(parts) {
        numbered.push_str(&format!("${number}{part}"));
    }
    numbered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_for_values_are_numbered() {
        assert_eq!(numbered("a = ? AND b = ?"), "a = $1 AND b = $2");
        assert_eq!(numbered("none"), "none");
    }
}
