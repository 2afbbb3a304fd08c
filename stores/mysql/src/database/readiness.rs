//! What is there before it is needed: the tables, and the connection for renewals.

use std::sync::atomic::Ordering;

use tenure_core::Fault;
use tenure_sql::Database;

use crate::{MysqlOptions, database::Mysql, error::Failure, tables::rows::value};

impl Mysql {
    /// Makes the connection for renewals ahead of the first, which may have little time.
    pub(crate) fn preconnect_renewals(&self) {
        if !self.common.warmed.swap(true, Ordering::Relaxed) {
            let (common, limit) = (self.common.clone(), self.response_timeout());
            self.common.home.spawn(async move {
                // What fails now is tried again when it is needed.
                let made = common.renewals.call(false, limit, |_| Box::pin(async { Ok(()) })).await;
                common.warmed.store(made.is_ok(), Ordering::Relaxed);
                if let Err(fault) = made.map_err(Failure::fault) {
                    tracing::warn!(
                        store = "mysql",
                        location = common.location,
                        fault = %format_args!("{fault:#}"),
                        "there is no connection for renewals yet"
                    );
                }
            });
        }
    }

    /// Whether there is a connection for renewals, which have one of their own.
    pub(crate) async fn check_renewal_connection(&self) -> Result<(), Fault> {
        let limit = self.response_timeout();
        let done = self.common.renewals.call(false, limit, |_| Box::pin(async { Ok(()) }));
        done.await.map_err(Failure::fault)
    }

    /// Whether the tables are there. Makes none.
    pub(crate) async fn has_tables(options: &MysqlOptions) -> Result<bool, Fault> {
        let found = format!(
            "select count(*) from information_schema.tables \
             where table_schema = database() and table_name = '{}_meta'",
            options.tables
        );
        let database = Self::new(options.clone(), false)?;
        let found = database.rows(found, Vec::new(), |row| value::<i64>(row, 0)).await?;
        Ok(found.first().is_some_and(|count| *count > 0))
    }
}
