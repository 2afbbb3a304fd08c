//! How a PostgreSQL database is reached.

use std::time::Duration;

use tenure_core::{Fault, FaultKind, proto::queue::Limits, store::Diagnostic};
use tenure_sql::{SqlOptions, TlsMode};

use crate::logins::Logins;

/// What to write for a server that is verified.
const STRICT: &str =
    "sslmode=verify-full (with sslrootcert= for a provider that has an authority of its own)";

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
    pub(crate) fn unprotected(&self) -> Option<Diagnostic> {
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
    let help = "use at most 63 of a to z, digits and _, without a digit in front";
    Err(Fault::new(FaultKind::Misconfigured, what, help))
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
