//! The store.

use tenure_core::Fault;
use tenure_sql::{FromOptions, SqlStore};

use crate::{PostgresOptions, database::Postgres};

/// Locks in a PostgreSQL database. Clones share one client.
///
/// Exclusion ([S1](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s1-exclusion)) holds among all
/// programs that use the same database and schema. It assumes that the server keeps what it committed (`fsync` is on,
/// and there is no failover to a replica that lacks commits). It also assumes that the server's clock does not jump
/// ahead by more than what is left of a lease. Tokens rise
/// ([S2](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s2-tokens-rise)) for as long as rows are
/// kept, whatever the clock does.
pub type PostgresStore = SqlStore<Postgres>;

impl FromOptions for Postgres {
    type Options = PostgresOptions;

    fn options(url: &str) -> Result<PostgresOptions, Fault> {
        PostgresOptions::from_url(url)
    }

    fn with_options(options: PostgresOptions) -> Result<Self, Fault> {
        Self::new(options)
    }
}
