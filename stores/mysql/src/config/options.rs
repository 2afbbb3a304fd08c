//! The options of the store.

use std::time::Duration;

use tenure_core::{Fault, FaultKind, proto::queue::Limits, store::Diagnostic};
use tenure_sql::{PasswordExposure, SqlOptions};

/// What to write for a server that is verified.
const STRICT: &str =
    "ssl-mode=VERIFY_IDENTITY (with ssl-ca= for a provider that has an authority of its own)";

/// How often the first waiter asks while no wake-up arrives. Those behind it ask less often.
const LOOK: Duration = Duration::from_millis(100);

/// The options of the store: how to reach a MySQL or MariaDB database, and the limits of the queues.
///
/// All programs that use the same locks must use the same database and tables, and should use the same limits.
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
    /// The default of [`tables`](MysqlOptions::tables), for the tables `tenure_locks` and `tenure_meta`.
    pub const DEFAULT_TABLES: &'static str = "tenure";

    /// Uses the database on these servers: hosts and ports. Of several servers, tenure uses the first that takes
    /// writes.
    ///
    /// # Errors
    /// A fault if there is no server, if one has no host or port, or if the database has no name.
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

    /// Sets the beginning of the tables' names. Default: [`DEFAULT_TABLES`](Self::DEFAULT_TABLES).
    ///
    /// # Errors
    /// A fault if `tables` has characters other than a to z, digits and `_`, begins with a digit, or is longer than 50
    /// characters.
    pub fn tables(mut self, tables: &str) -> Result<Self, Fault> {
        check_tables(tables)?;
        tables.clone_into(&mut self.tables);
        Ok(self)
    }

    /// Sets whether to create missing tables. Default: `true`. Otherwise they are an error, and
    /// [`schema()`](crate::schema()) returns the statements that create them.
    #[must_use]
    pub const fn create(mut self, yes: bool) -> Self {
        self.creates = yes;
        self
    }

    /// Sets whether tenure sends the password without TLS to a server that requires it, encrypted with a key that the
    /// server names and nothing verifies. Default: `false`. An attacker on the network can then get the password.
    #[must_use]
    pub const fn get_server_public_key(mut self, yes: bool) -> Self {
        self.trusts_key = yes;
        self
    }

    /// Checks what depends on several options.
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
        // The server asks for the password of a user that it does not remember.
        self.sql.unprotected(PasswordExposure::Given, STRICT)
    }

    /// Returns the location of the database, without user and password.
    #[must_use]
    pub fn location(&self) -> String {
        let place = self.sql.location("mysql");
        if self.tables == Self::DEFAULT_TABLES {
            return place;
        }
        format!("{place}?tables={}", self.tables)
    }

    /// The limits while no wake-ups arrive.
    pub(crate) fn limits_when_unwatched(&self) -> Limits {
        Limits { look: LOOK, ..self.sql.limits }
    }
}

tenure_sql::setters!(MysqlOptions);

/// Checks a beginning of names that mean the same with quotes and without, and in whatever case the server keeps them.
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
