//! How a PostgreSQL database is reached.

use std::time::Duration;

use tenure_core::{Fault, FaultKind, proto::queue::Limits, store::Finding};
use tenure_sql::{SqlOptions, TlsMode};

use crate::{
    logins::Logins,
    url::{self, STRICT},
};

/// Whether a login is bound to the certificate that the server has shown, so that nobody in between can pass it on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Binding {
    Disable,
    #[default]
    Prefer,
    Require,
}

/// How a PostgreSQL database is reached, and the bounds of its queues.
///
/// Everybody who uses the same locks must use the same database and schema, and should use the same bounds.
///
/// ```
/// use tenure_postgres::PostgresOptions;
///
/// let options = PostgresOptions::from_url("postgres://me:secret@db/shop?lock_schema=locks")?;
/// assert_eq!(options.location(), "postgres://db:5432/shop?lock_schema=locks");
/// # Ok::<(), tenure_core::Fault>(())
/// ```
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    pub(crate) sql: SqlOptions,
    pub(crate) schema: String,
    pub(crate) listens: bool,
    pub(crate) creates: bool,
    pub(crate) logins: Option<Logins>,
    pub(crate) binding: Binding,
    /// Whether a server that takes no writes is none.
    pub(crate) wants_primary: bool,
    /// What the server's process is told before what we tell it.
    pub(crate) session: Option<String>,
    /// What the server calls our sessions.
    pub(crate) application: Option<String>,
    /// Whether the URL says that the application's schema is `public`, which earlier versions took for ours.
    pub(crate) is_public_named: bool,
}

impl PostgresOptions {
    /// The schema with the tables, unless said otherwise.
    pub const DEFAULT_SCHEMA: &'static str = "tenure";

    /// Options from a URL: `postgres://[user[:password]@]host[:port][,host[:port]…]/database`, with these settings.
    ///
    /// | setting | what it says |
    /// |---|---|
    /// | `lock_schema=` | the schema with the tables; `tenure` unless said otherwise |
    /// | `create=no` | tables that are not there are an error: [`schema()`](crate::schema()) says how they are made |
    /// | `listen=no` | messages are not waited for, as behind a pooler that keeps no session: waiters look by themselves, ten times a second |
    /// | `sslmode=` | as libpq has it: [`TlsMode`]; `disable` unless said otherwise, and `verify-full` where authorities are named. `tls=yes` is `verify-full` |
    /// | `sslrootcert=`, `ca=` | the authorities to trust, in PEM, instead of the system's; `system` for these |
    /// | `sslcert=`, `sslkey=` | a certificate of ours and its key, in PEM; nobody else may read the key |
    /// | `channel_binding=` | `require`: the server proves that it knows the password on the very connection that is encrypted, `disable` or `prefer` |
    /// | `require_auth=` | in which ways the server may have the user recognized: a list of `scram-sha-256`, `md5`, `password` and `none`, as libpq has it. Unless said otherwise each where it is known who the server is, as by its certificate and by a socket in the file system, else `scram-sha-256` and `none` |
    /// | `target_session_attrs=` | `read-write` or `primary`: one server, too, is refused while it takes no writes |
    /// | `application_name=` | what the server calls our sessions; `tenure` unless said otherwise |
    /// | `options=` | what the server's process is told: `-c name=value`. What tenure tells it comes behind that |
    /// | `connections=` | calls are spread over so many connections at most while they are in each other's way, 1 to 64; 4 unless said otherwise. Messages, renewals and what tenure does by itself have one more, and renewals another one while all are busy |
    /// | `connect_timeout=`, `response_timeout=` | 10 ms to 1 min, in `ms` or `s`, the first also in seconds without a unit; 5 s unless said otherwise |
    /// | `claim_window=`, `place_ttl=` | how long a waiter has to claim what it is offered, 10 ms to 10 s; how long its place is kept, 100 ms to 10 min. 500 ms and 10 s unless said otherwise |
    /// | `max_waiters=`, `max_holders=` | of one name, 1 to 10,000; 1,000 unless said otherwise |
    /// | `host=`, `port=`, `user=`, `password=`, `dbname=` | instead of what stands in front, as libpq has it: `postgres://me@/shop?host=/run/postgresql` |
    ///
    /// Of several hosts the one that takes writes is used. What is special in a user, password or database is
    /// percent-encoded. `docs/stores/postgres.md` has the settings of frameworks and hosting providers that are taken,
    /// those that are ignored, and those that are refused.
    ///
    /// # Errors
    /// A fault that says what is wrong, and never shows a password.
    pub fn from_url(url: &str) -> Result<Self, Fault> {
        url::read(url)
    }

    /// The same, with another mode of TLS.
    ///
    /// # Errors
    /// A fault if the mode does without what the URL names, as without authorities, or verifies nothing by it.
    ///
    /// ```
    /// use tenure_postgres::{PostgresOptions, TlsMode};
    ///
    /// let options = PostgresOptions::from_url("postgres://me:secret@db/shop")?;
    /// let options = options.tls_mode(TlsMode::VerifyFull)?;
    /// # Ok::<(), tenure_core::Fault>(())
    /// ```
    pub fn tls_mode(mut self, mode: TlsMode) -> Result<Self, Fault> {
        self.sql.tls.mode = mode;
        self.sql.tls.check()?;
        Ok(self)
    }

    /// Where the database is, without user and password.
    #[must_use]
    pub fn location(&self) -> String {
        let place = self.sql.location("postgres");
        if self.schema == Self::DEFAULT_SCHEMA {
            return place;
        }
        format!("{place}?lock_schema={}", self.schema)
    }

    /// What to warn of on the way to the servers.
    pub(crate) fn unprotected(&self) -> Option<Finding> {
        self.sql.unprotected(self.binding == Binding::Require, STRICT)
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
    let cure = "use at most 63 of a to z, digits and _, without a digit in front";
    Err(Fault::new(FaultKind::Misconfigured, what, cure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_a_url_or_refused() {
        let examples: &[&[u8]] = &[
            b"postgres://u:p%25@h1:5432,h2:5433/db?lock_schema=x&connections=3&sslmode=verify-full",
            b"postgresql://h/db?place_ttl=9s",
            b"jdbc:postgresql://h/db?user=u&password=p&ssl=true&currentSchema=x",
            b"postgres://u@/db?host=/a:b:c&port=1&options=-c%20a=b&channel_binding=prefer",
        ];
        tenure_testkit::fuzz(20_000, examples, |bytes| {
            let Ok(url) = std::str::from_utf8(bytes) else { return false };
            PostgresOptions::from_url(url).is_ok()
        });
    }
}
