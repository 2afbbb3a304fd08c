//! The tables of stores on databases, for those who make them by hand.

/// The statements that make the tables on MySQL and MariaDB whose names begin so. They change nothing that is there,
/// and end with what a user needs that uses the locks and makes no tables.
///
/// # Errors
/// A [`Fault`](crate::Fault) if names of tables cannot begin so.
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

/// The statements that make the tables on PostgreSQL in this schema. They change nothing that is there, and end
/// with what a role needs that uses the locks and makes no tables.
///
/// # Errors
/// A [`Fault`](crate::Fault) if that cannot be the name of a schema.
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
