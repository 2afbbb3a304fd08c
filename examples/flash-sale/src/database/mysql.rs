//! MariaDB and MySQL.

use std::time::Duration;

use async_trait::async_trait;
use mysql_async::{
    Conn, IsolationLevel, Opts, OptsBuilder, Params, Pool, PoolConstraints, PoolOpts, Row, TxOpts,
    Value, prelude::Queryable,
};

use super::{ANSWER, DatabaseError, Engine, Outcome, Statement, Step, TABLES, Written};

/// Connections of one instance.
const CONNECTIONS: usize = 16;

/// How long it is waited for one of them.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct Mysql {
    pool: Pool,
    place: String,
}

impl Mysql {
    /// `rest` is what stands behind `mysql:` or `mariadb:`.
    pub(super) async fn open(rest: &str) -> Outcome<Self> {
        let url = format!("mysql:{rest}");
        let opts = Opts::from_url(&url).map_err(|error| DatabaseError::new("mysql:", error))?;
        let place = format!(
            "mysql:{}:{}/{}",
            opts.ip_or_hostname(),
            opts.tcp_port(),
            opts.db_name().unwrap_or_default()
        );
        let constraints = PoolConstraints::new(0, CONNECTIONS).unwrap_or_default();
        let opts = OptsBuilder::from_opts(opts)
            .pool_opts(PoolOpts::default().with_constraints(constraints));
        let mysql = Self { pool: Pool::new(opts), place };
        let mut connection = mysql.connection().await?;
        for table in TABLES {
            // Whatever the default is: without transactions nothing could be undone.
            let table = format!("{table} ENGINE = InnoDB");
            connection.query_drop(table).await.map_err(|error| mysql.error(error))?;
        }
        drop(connection);
        Ok(mysql)
    }

    async fn connection(&self) -> Outcome<Conn> {
        match tokio::time::timeout(PATIENCE, self.pool.get_conn()).await {
            Ok(connection) => connection.map_err(|error| self.error(error)),
            Err(_) => Err(self.error("no connection was free in time")),
        }
    }

    async fn in_time<T>(
        &self,
        run: impl Future<Output = Result<T, mysql_async::Error>> + Send,
    ) -> Outcome<T> {
        match tokio::time::timeout(ANSWER, run).await {
            Ok(done) => done.map_err(|error| self.error(error)),
            Err(_) => Err(self.error("it did not answer in time")),
        }
    }

    fn error(&self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> DatabaseError {
        let cause = cause.into();
        let is_conflict = match cause.downcast_ref::<mysql_async::Error>() {
            // A deadlock, and a lock that was waited for in vain.
            Some(mysql_async::Error::Server(error)) => matches!(error.code, 1205 | 1213),
            _ => false,
        };
        DatabaseError { is_conflict, ..DatabaseError::new(&self.place, cause) }
    }
}

#[async_trait]
impl Engine for Mysql {
    async fn rows(&self, query: &'static str, values: &[i64]) -> Outcome<Vec<Vec<i64>>> {
        let mut connection = self.connection().await?;
        let values = Params::Positional(values.iter().map(|&value| value.into()).collect());
        let rows: Vec<Row> = self.in_time(connection.exec(query, values)).await?;
        rows.into_iter()
            .map(|row| {
                let columns: Option<Vec<i64>> =
                    (0..row.len()).map(|column| row.get_opt(column)?.ok()).collect();
                columns.ok_or_else(|| self.error("a column is no number"))
            })
            .collect()
    }

    async fn transact(&self, steps: &[Step]) -> Outcome<Written> {
        let mut connection = self.connection().await?;
        let run = async {
            // What others have committed is seen, and fewer gaps between rows are locked.
            let mut options = TxOpts::default();
            options.with_isolation_level(IsolationLevel::ReadCommitted);
            let mut transaction = connection.start_transaction(options).await?;
            for step in steps {
                let text = match step.statement {
                    Statement::Plain(text) => text.to_owned(),
                    Statement::InsertNew(rest) => format!("INSERT IGNORE INTO {rest}"),
                };
                let values: Vec<Value> = step.values.iter().map(|&value| value.into()).collect();
                transaction.exec_drop(text, Params::Positional(values)).await?;
                if let (0, Some(written)) = (transaction.affected_rows(), step.otherwise) {
                    transaction.rollback().await?;
                    return Ok(written);
                }
            }
            transaction.commit().await?;
            Ok::<_, mysql_async::Error>(Written::Done)
        };
        self.in_time(run).await
    }
}
