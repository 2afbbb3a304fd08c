//! The store.

use tenure_core::Fault;
use tenure_sql::{FromOptions, SqlStore};

use crate::{MysqlOptions, database::Mysql};

/// Locks in a MySQL or MariaDB database. Clones share one client.
///
/// Exclusion ([S1](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s1-exclusion)) holds among all
/// programs that use the same database and tables. It assumes that the server keeps what it committed
/// (`innodb_flush_log_at_trx_commit` is 1, and there is no failover to a replica that lacks commits). It also assumes
/// that the server's clock does not jump ahead by more than what is left of a lease. Tokens rise
/// ([S2](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s2-tokens-rise)) for as long as rows are
/// kept, whatever the clock does.
pub type MysqlStore = SqlStore<Mysql>;

impl FromOptions for Mysql {
    type Options = MysqlOptions;

    fn options(url: &str) -> Result<MysqlOptions, Fault> {
        MysqlOptions::from_url(url)
    }

    fn with_options(options: MysqlOptions) -> Result<Self, Fault> {
        Self::new(options, true)
    }
}
