//! How a MySQL or MariaDB database is reached.

use std::time::Duration;

use tenure_core::{Fault, FaultKind, proto::queue::Limits, store::Finding};
use tenure_sql::{SqlOptions, TlsMode};

use crate::url::{self, STRICT};

/// How often the first waiter looks while nobody wakes it. Those behind it look less often.
const LOOK: Duration = Duration::from_millis(100);

/// How a MySQL or MariaDB database is reached, and the bounds of its queues.
///
/// Everybody who uses the same locks must use the same database and tables, and should use the same bounds.
///
/// ```
/// use tenure_mysql::MysqlOptions;
///
/// let options = MysqlOptions::from_url("mysql://me:secret@db/shop?tables=locks")?;
/// assert_eq!(options.location(), "mysql://db:3306/shop?tables=locks");
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

    /// Options from a URL: `mysql://[user[:password]@]host[:port][,host[:port]…]/database`, or the same with
    /// `mariadb`, with these settings.
    ///
    /// | setting | what it says |
    /// |---|---|
    /// | `tables=` | what the names of the tables begin with; `tenure` unless said otherwise |
    /// | `create=no` | tables that are not there are an error: [`schema()`](crate::schema()) says how they are made |
    /// | `ssl-mode=` | as MySQL's clients have it: [`TlsMode`]; `DISABLED` unless said otherwise, and `VERIFY_IDENTITY` where authorities are named. `tls=yes` is `VERIFY_IDENTITY` |
    /// | `ssl-ca=`, `ca=` | the authorities to trust, in PEM, instead of the system's |
    /// | `ssl-cert=`, `ssl-key=` | a certificate of ours and its key, in PEM; nobody else may read the key |
    /// | `get_server_public_key=yes` | without TLS, a server that wants the password itself gets it encrypted by a key that it names and nobody checks |
    /// | `connections=` | so many calls are under way at once at most, each on a connection of its own, 1 to 64; 4 unless said otherwise. Renewals, looks for those who wait and what tenure does by itself share one more, and have up to four while they are in each other's way |
    /// | `connect_timeout=`, `response_timeout=` | 10 ms to 1 min, in `ms` or `s`, the first also in seconds without a unit; 5 s unless said otherwise |
    /// | `claim_window=`, `place_ttl=` | how long a waiter has to claim what it is offered, 10 ms to 10 s; how long its place is kept, 100 ms to 10 min. 500 ms and 10 s unless said otherwise |
    /// | `max_waiters=`, `max_holders=` | of one name, 1 to 10,000; 1,000 unless said otherwise |
    /// | `user=`, `password=` | instead of those before the host |
    ///
    /// Of several hosts the first that takes writes is used. What is special in a user, password or database is
    /// percent-encoded. `docs/stores/mysql.md` has the settings of frameworks and hosting providers that are taken, those
    /// that are ignored, and those that are refused.
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
    /// use tenure_mysql::{MysqlOptions, TlsMode};
    ///
    /// let options = MysqlOptions::from_url("mysql://me:secret@db/shop")?;
    /// let options = options.tls_mode(TlsMode::VerifyFull)?;
    /// # Ok::<(), tenure_core::Fault>(())
    /// ```
    pub fn tls_mode(mut self, mode: TlsMode) -> Result<Self, Fault> {
        self.sql.tls.mode = mode;
        self.sql.tls.check()?;
        Ok(self)
    }

    /// What to warn of on the way to the servers.
    pub(crate) fn unprotected(&self) -> Option<Finding> {
        self.sql.unprotected(false, STRICT)
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

/// A beginning of names that mean the same with quotes and without, in any letters the server keeps them in.
pub(crate) fn check_tables(tables: &str) -> Result<(), Fault> {
    let mut signs = tables.chars();
    let first = signs.next().is_some_and(|first| first.is_ascii_lowercase() || first == '_');
    let rest = signs.all(|sign| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '_');
    if first && rest && tables.len() <= 50 {
        return Ok(());
    }
    let what = format!("{tables:?} cannot be what the names of the tables begin with");
    let cure = "use at most 50 of a to z, digits and _, without a digit in front";
    Err(Fault::new(FaultKind::Misconfigured, what, cure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_in_the_file_system_is_refused_as_one() {
        let fault =
            MysqlOptions::from_url("mysql://me@%2Frun%2Fmysqld%2Fmysqld.sock/db").unwrap_err();
        assert!(fault.to_string().contains("by host and port"), "{fault}");
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
