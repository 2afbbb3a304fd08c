//! How a PostgreSQL database is reached.

use std::time::Duration;

use tenure_core::{Fault, FaultKind, proto::queue::Limits};
use tenure_sql::{Spelling, SqlOptions};

use crate::logins::Logins;

/// How URLs of PostgreSQL are written.
pub(crate) const SPELLING: Spelling = Spelling {
    database: "PostgreSQL",
    schemes: &["postgres", "postgresql"],
    port: 5432,
    settings: &["schema", "listen", "create", "sslmode", "require_auth"],
    example: "postgres://user:password@host/database, or with ?schema=locks&tls=yes",
};

/// How a PostgreSQL database is reached, and the bounds of its queues.
///
/// Everybody who uses the same locks must use the same database and schema, and should use the same bounds.
///
/// ```
/// use tenure_postgres::PostgresOptions;
///
/// let options = PostgresOptions::from_url("postgres://me:secret@db/shop?schema=locks")?;
/// assert_eq!(options.location(), "postgres://db:5432/shop?schema=locks");
/// # Ok::<(), tenure_core::Fault>(())
/// ```
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    pub(crate) sql: SqlOptions,
    pub(crate) schema: String,
    pub(crate) listens: bool,
    pub(crate) creates: bool,
    pub(crate) logins: Option<Logins>,
}

impl PostgresOptions {
    /// The schema with the tables, unless said otherwise.
    pub const DEFAULT_SCHEMA: &'static str = "tenure";

    /// Options from a URL: `postgres://[user[:password]@]host[:port][,host[:port]…]/database`, with these settings.
    ///
    /// | setting | what it says |
    /// |---|---|
    /// | `schema=` | the schema with the tables; `tenure` unless said otherwise |
    /// | `create=no` | tables that are not there are an error: [`schema()`](crate::schema()) says how they are made |
    /// | `listen=no` | messages are not waited for, as behind a pooler that keeps no session: waiters look by themselves, ten times a second |
    /// | `tls=yes`, `ca=` | over TLS, the server's certificate checked; the authorities to trust, in PEM, instead of the system's |
    /// | `require_auth=` | in which ways the server may have the user recognized: a list of `scram-sha-256`, `md5`, `password` and `none`, as libpq has it. Unless said otherwise each over TLS and by a socket in the file system, else `scram-sha-256` and `none` |
    /// | `connections=` | calls are spread over so many connections at most while they are in each other's way, 1 to 64; 4 unless said otherwise. Messages, renewals and what tenure does by itself have one more, and renewals another one while all are busy |
    /// | `connect_timeout=`, `response_timeout=` | 10 ms to 1 min, in `ms` or `s`; 5 s unless said otherwise |
    /// | `claim_window=`, `place_ttl=` | how long a waiter has to claim what it is offered, 10 ms to 10 s; how long its place is kept, 100 ms to 10 min. 500 ms and 10 s unless said otherwise |
    /// | `max_waiters=`, `max_holders=` | of one name, 1 to 10,000; 1,000 unless said otherwise |
    /// | `password=` | instead of the one before the host |
    ///
    /// Of several hosts the one that takes writes is used. What is special in a user, password or database is
    /// percent-encoded.
    ///
    /// # Errors
    /// A fault that says what is wrong, and never shows a password.
    pub fn from_url(url: &str) -> Result<Self, Fault> {
        let mut parts = SPELLING.parts(url)?;
        let schema = parts.take("schema").unwrap_or_else(|| Self::DEFAULT_SCHEMA.to_owned());
        let listens = parts.yes("listen")?.unwrap_or(true);
        let creates = parts.yes("create")?.unwrap_or(true);
        let mode = parts.take("sslmode");
        let logins = parts.take("require_auth");
        let encrypted = mode.as_deref() == Some("verify-full");
        let sql = SqlOptions::of(&mut parts, encrypted)?;
        match mode.as_deref() {
            None => {}
            Some("disable") if sql.tls => {
                return Err(SPELLING.wrong("sslmode=disable contradicts tls=yes"));
            }
            Some("disable" | "verify-full") => {}
            Some(_) => {
                return Err(SPELLING.wrong(
                    "sslmode is verify-full or disable: encryption without a look at the certificate keeps nobody out",
                ));
            }
        }
        if sql.user.is_none() {
            return Err(SPELLING.wrong("it names no user"));
        }
        check_schema(&schema)?;
        let logins = logins.map(|list| Logins::read(&list).map_err(|what| SPELLING.wrong(&what)));
        let logins = logins.transpose()?;
        Ok(Self { sql, schema, listens, creates, logins })
    }

    /// Where the database is, without user and password.
    #[must_use]
    pub fn location(&self) -> String {
        let place = self.sql.location("postgres");
        if self.schema == Self::DEFAULT_SCHEMA {
            return place;
        }
        format!("{place}?schema={}", self.schema)
    }

    /// The bounds where nobody is woken.
    pub(crate) fn limits_when_deaf(&self) -> Limits {
        Limits { look: Duration::from_millis(100), ..self.sql.limits }
    }
}

/// A name that means the same with quotes and without.
pub(crate) fn check_schema(schema: &str) -> Result<(), Fault> {
    let mut signs = schema.chars();
    let first = signs.next().is_some_and(|first| first.is_ascii_lowercase() || first == '_');
    let rest = signs.all(|sign| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '_');
    if first && rest && schema.len() <= 63 {
        return Ok(());
    }
    let what = format!("{schema:?} cannot be the schema of the tables");
    let help = "use at most 63 of a to z, digits and _, without a digit in front";
    Err(Fault::new(FaultKind::Misconfigured, what, help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_a_url_or_refused() {
        let examples: &[&[u8]] = &[
            b"postgres://u:p%25@h1:5432,h2:5433/db?schema=x&connections=3&sslmode=verify-full",
            b"postgresql://h/db?place_ttl=9s",
        ];
        tenure_testkit::fuzz(20_000, examples, |bytes| {
            let Ok(url) = std::str::from_utf8(bytes) else { return false };
            PostgresOptions::from_url(url).is_ok()
        });
    }
}
