//! The tables of the stores on databases, if you create them by hand.

/// Returns the statements that create the tables on MySQL and MariaDB, with names that begin with `tables`.
///
/// They change nothing that exists. They end with the rights that a user needs to use locks without creating tables.
///
/// # Errors
/// A [`Fault`](crate::Fault) if the names of tables cannot begin with `tables`.
///
/// ```
/// let statements = tenure::schema::mysql("tenure")?;
/// assert!(statements.contains("create table if not exists tenure_locks"));
/// # Ok::<(), tenure::Fault>(())
/// ```
#[cfg(feature = "mysql")]
pub fn mysql(tables: &str) -> Result<String, crate::Fault> {
    tenure_mysql::schema(tables)
}

/// Returns the statements that create the tables on PostgreSQL, in this schema.
///
/// They change nothing that exists. They end with the rights that a role needs to use locks without creating tables.
///
/// # Errors
/// A [`Fault`](crate::Fault) if `schema` cannot be the name of a schema.
///
/// ```
/// let statements = tenure::schema::postgres("tenure")?;
/// assert!(statements.contains("create table if not exists tenure.locks"));
/// # Ok::<(), tenure::Fault>(())
/// ```
#[cfg(feature = "postgres")]
pub fn postgres(schema: &str) -> Result<String, crate::Fault> {
    tenure_postgres::schema(schema)
}
