//! The capabilities of the store.

use tenure_core::store::Capabilities;

use crate::PostgresOptions;

pub(crate) fn capabilities(options: &PostgresOptions) -> Capabilities {
    Capabilities {
        tells_evictions: options.listens,
        ..tenure_sql::capabilities(&options.sql.limits)
    }
}
