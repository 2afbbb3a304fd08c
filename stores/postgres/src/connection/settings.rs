//! What a session is told, whatever its role and its database say of it.
//!
//! [docs/stores/postgres.md](https://github.com/tenure-rs/tenure/blob/main/docs/stores/postgres.md) says of each setting what it could do; a test holds that none of a server's is unknown.

/// Settings that each server has and each user may change. Those that depend on options, or are looked at, are told
/// beside these.
pub(crate) const TOLD: &str = " -c jit=off -c exit_on_error=off -c quote_all_identifiers=off \
     -c default_table_access_method=heap -c default_transaction_deferrable=off -c TimeZone=UTC -c DateStyle=ISO";

/// What a session is told that only later servers know: it limits a transaction as `statement_timeout` limits a statement,
/// and each of our statements is one. For a session that is ours alone.
pub(crate) const TOLD_LATER: &str = "(select pg_catalog.set_config(name, '0', false) from pg_catalog.pg_settings \
     where name = 'transaction_timeout' and setting <> '0')";
