//! How a MySQL or MariaDB database is reached.

use std::time::Duration;

use tenure_core::{Fault, FaultKind, proto::queue::Limits, store::Diagnostic};
use tenure_sql::{PasswordExposure, SqlOptions};

/// What to write for a server that is verified.
const STRICT: &str =
    "ssl-mode=VERIFY_IDENTITY (with ssl-ca= for a provider that has an authority of its own)";

/// How often the first waiter looks while nobody wakes it. Those behind it look less often.
const LOOK: Duration = Duration::from_millis(100);

/// How a MySQL or MariaDB database is reached, and the bounds of its queues.
///
/// Everybody who uses the same locks must use the same database and tables, and should use the same bounds.
///
/// ```
/// use tenure_mysql::MysqlOptions;
///
/// let options = MysqlOptions::new([("db", 3306)], "shop")?
///     .user("me")
///     .password_from(|| async { Ok::<_, std::io::Error>("what the vault says now") })
///     .tables("locks")?;
/// assert_eq!(options.location(), "mysql://db:3306/shop?tables=locks");
///
/// let same = MysqlOptions::from_url("mysql://me:secret@db/shop?tables=locks")?;
/// assert_eq!(same.location(), options.location());
/// # Ok::<(), tenure_core::Fault>(())
/// ```
#[derive(Clone, Debug)]
pub struct MysqlOptions {
    pub(crate) sql: SqlOptions,
    pub(crate) tables: String,
    pub(crate) creates: bool,
    pub(crate) trusts_key: bool,
}

impl MysqlOptions {
    /// What the names of the tables begin with, unless said otherwise: `tenure_locks` and `tenure_meta`.
    pub const DEFAULT_TABLES: &'static str = "tenure";

    /// The database on these servers, of which the first that takes writes is used: hosts and ports.
    ///
    /// # Errors
    /// A fault if no server is named, one has no host or port, or the database has no name.
    pub fn new<H: Into<String>>(
        servers: impl IntoIterator<Item = (H, u16)>,
        database: impl Into<String>,
    ) -> Result<Self, Fault> {
        Ok(Self {
            sql: SqlOptions::new(servers, database)?,
            tables: Self::DEFAULT_TABLES.to_owned(),
            creates: true,
            trusts_key: false,
        })
    }

    /// What the names of the tables begin with; [`DEFAULT_TABLES`](Self::DEFAULT_TABLES) unless said otherwise.
    ///
    /// # Errors
    /// A fault if it is not one of at most 50 of a to z, digits and `_`.
    pub fn tables(mut self, tables: &str) -> Result<Self, Fault> {
        check_tables(tables)?;
        tables.clone_into(&mut self.tables);
        Ok(self)
    }

    /// Whether tables that are not there are made; `true` unless said otherwise. Else they are an error, and
    /// [`schema()`](crate::schema()) says how they are made.
    #[must_use]
    pub const fn create(mut self, yes: bool) -> Self {
        self.creates = yes;
        self
    }

    /// Whether, without TLS, a server that wants the password itself gets it encrypted by a key that it names and nobody
    /// checks; `false` unless said otherwise. Whoever stands in between can have the password then.
    #[must_use]
    pub const fn get_server_public_key(mut self, yes: bool) -> Self {
        self.trusts_key = yes;
        self
    }

    /// What can only be seen when all is said.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        if self.sql.servers.iter().any(|(host, _)| host.starts_with('/')) {
            let what = "MySQL is reached by host and port, not by a socket in the file system";
            let help = "name the host, such as 127.0.0.1";
            return Err(Fault::new(FaultKind::Misconfigured, what, help));
        }
        self.sql.check()
    }

    /// What to warn of on the way to the servers.
    pub(crate) fn unprotected(&self) -> Option<Diagnostic> {
        // Of whom the server does not remember it wants the password itself.
        self.sql.unprotected(PasswordExposure::Given, STRICT)
    }

    /// Where the database is, without user and password.
    #[must_use]
    pub fn location(&self) -> String {
        let place = self.sql.location("mysql");
        if self.tables == Self::DEFAULT_TABLES {
            return place;
        }
        format!("{place}?tables={}", self.tables)
    }

    /// The bounds while nobody is woken.
    pub(crate) fn limits_when_unwatched(&self) -> Limits {
        Limits { look: LOOK, ..self.sql.limits }
    }
}

tenure_sql::setters!(MysqlOptions);

/// A beginning of names that mean the same with quotes and without, in any letters the server keeps them in.
pub(crate) fn check_tables(tables: &str) -> Result<(), Fault> {
    let mut signs = tables.chars();
    let first = signs.next().is_some_and(|first| first.is_ascii_lowercase() || first == '_');
    let rest = signs.all(|sign| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '_');
    if first && rest && tables.len() <= 50 {
        return Ok(());
    }
    let what = format!("{tables:?} cannot be a prefix of table names");
    let help = "use at most 50 of a to z, digits and _, without a digit in front";
    Err(Fault::new(FaultKind::Misconfigured, what, help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_in_the_file_system_is_refused_as_one() {
        let fault =
            MysqlOptions::from_url("mysql://me@%2Frun%2Fmysqld%2Fmysqld.sock/db").unwrap_err();
        assert!(format!("{fault:#}").contains("by host and port"), "{fault:#}");
    }

    #[test]
    fn any_text_is_a_url_or_refused() {
        let examples: &[&[u8]] = &[
            b"mysql://u:p@h:3306/db?connections=4&tables=x&tls=on",
            b"jdbc:mysql://h/db?user=u&password=p&useSSL=true&requireSSL=true&serverTimezone=UTC",
            b"mariadb://u@[::1]/db?place_ttl=9s&creates=no",
        ];
        tenure_testkit::fuzz(20_000, examples, |bytes| {
            let Ok(url) = std::str::from_utf8(bytes) else { return false };
            MysqlOptions::from_url(url).is_ok()
        });
    }
}
