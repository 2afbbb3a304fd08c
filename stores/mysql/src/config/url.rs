//! Options from a URL, as MySQL's clients, frameworks and hosting providers write them.

use std::time::Duration;

use tenure_core::Fault;
use tenure_sql::{SqlOptions, TlsMode, TlsOptions, TlsSettings, UrlParts};
use tenure_url::{Dialect, Settings};

use crate::{
    MysqlOptions,
    config::{
        foreign::{FOREIGN, REFUSED},
        options::check_tables,
    },
};

/// The syntax of MySQL's URLs.
pub(crate) const DIALECT: Dialect = Dialect {
    store: "MySQL",
    schemes: &["mysql", "mariadb", "mysql2", "trilogy", "mysqlgis", "mysql-connector"],
    example: "mysql://user:password@host/database, or with ?tables=locks&ssl-mode=VERIFY_IDENTITY",
};

/// The names of the TLS settings in these URLs.
const TLS: TlsSettings = TlsSettings {
    dialect: DIALECT,
    mode: ("ssl-mode", &["DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"]),
    verifying: &["{}", "{\"rejectUnauthorized\":true}"],
    roots: "ssl-ca",
    certificate: "ssl-cert",
    key: "ssl-key",
};
/// The default port.
const PORT: u16 = 3306;

impl MysqlOptions {
    /// Returns the options in a URL: `mysql://[user[:password]@]host[:port][,host[:port]…]/database`, or the same with
    /// `mariadb`, with these settings.
    ///
    /// | setting | meaning |
    /// |---|---|
    /// | `tables=` | the beginning of the tables' names. Default: `tenure` |
    /// | `create=no` | missing tables are an error: [`schema()`](crate::schema()) returns the statements that create them |
    /// | `ssl-mode=` | [`TlsMode`], with the names of MySQL's clients. Default: `DISABLED`, or `VERIFY_IDENTITY` if authorities are named. `tls=yes` is `VERIFY_IDENTITY` |
    /// | `ssl-ca=`, `ca=` | a PEM file with the authorities to trust instead of the system's |
    /// | `ssl-cert=`, `ssl-key=` | PEM files with a client certificate and its key; no other user may read the key |
    /// | `get_server_public_key=yes` | sends the password without TLS to a server that requires it, encrypted with a key that the server names and nothing verifies |
    /// | `connections=` | the most calls under way at once, each on a separate connection, 1 to 64. Default: 4. Renewals, requests for waiters and background work share one more connection, and have up to four while they delay each other |
    /// | `connect_timeout=`, `response_timeout=` | 10 ms to 1 min, in `ms` or `s`, the first also in seconds without a unit. Default: 5 s |
    /// | `claim_window=`, `position_ttl=` | how long a waiter has to claim the lock that it is offered, 10 ms to 10 s, and how long its queue position is kept, 100 ms to 10 min. Default: 500 ms and 10 s |
    /// | `max_waiters=`, `max_holders=` | the most waiters and holders of one name, 1 to 10,000. Default: 1,000 |
    /// | `password_file=` | a file with the password, which is read at each login; only its owner may read it |
    /// | `user=`, `password=` | instead of those before the host |
    ///
    /// Of several hosts, tenure uses the first that takes writes. Percent-encode special characters in a user, a
    /// password or a database. [The page on the
    /// store](https://github.com/tenure-rs/tenure/blob/main/docs/stores/mysql.md) lists the settings of frameworks and
    /// hosting providers that tenure accepts, ignores and refuses.
    ///
    /// # Errors
    /// A fault that says what is wrong. It never shows a password.
    pub fn from_url(url: &str) -> Result<Self, Fault> {
        read(url)
    }
}

fn read(url: &str) -> Result<MysqlOptions, Fault> {
    let mut parts = UrlParts::read(DIALECT, PORT, false, url)?;
    let settings = &mut parts.settings;
    let tables = settings.take("tables");
    let tables = tables.unwrap_or_else(|| MysqlOptions::DEFAULT_TABLES.to_owned());
    let creates = settings.yes_no("create")?.unwrap_or(true);
    // The first name is from Java's drivers.
    settings.alias("allowPublicKeyRetrieval", "get_server_public_key")?;
    settings.alias("get-server-public-key", "get_server_public_key")?;
    let trusts_key = settings.yes_no("get_server_public_key")?.unwrap_or(false);
    let tls = tls(settings)?;
    let connects_within = connects_within(&mut parts)?;
    let mut sql = SqlOptions::of(&mut parts, tls)?;
    if let Some(length) = connects_within {
        sql.connect_timeout = length;
    }
    if sql.servers.iter().any(|(host, _)| host.starts_with('/')) {
        return Err(by_socket());
    }
    check_tables(&tables)?;
    parts.finish("mysql", REFUSED, FOREIGN)?;
    Ok(MysqlOptions { sql, tables, creates, trusts_key })
}

fn by_socket() -> Fault {
    DIALECT.wrong_but(
        "it is reached by host and port, not by a socket in the file system",
        "name the host, such as 127.0.0.1",
    )
}

/// The timeout as in Java's URLs, in milliseconds.
fn connects_within(parts: &mut UrlParts) -> Result<Option<Duration>, Fault> {
    if !parts.settings.has("connectTimeout") {
        return Ok(None);
    }
    parts.length("connectTimeout", Some(Duration::from_millis(1)), (10, 60_000))
}

/// Names of settings in MySQL's clients, sqlx, mysql2, PyMySQL and Java's drivers, and ours.
const ALIASES: [(&str, &str); 14] = [
    ("sslmode", "ssl-mode"),
    ("sslMode", "ssl-mode"),
    ("ssl_mode", "ssl-mode"),
    ("ca", "ssl-ca"),
    ("ssl_ca", "ssl-ca"),
    ("sslca", "ssl-ca"),
    ("serverSslCert", "ssl-ca"),
    ("sslrootcert", "ssl-ca"),
    ("ssl_cert", "ssl-cert"),
    ("sslcert", "ssl-cert"),
    ("ssl_key", "ssl-key"),
    ("sslkey", "ssl-key"),
    ("ssl_verify_server_cert", "sslverify"),
    ("ssl_verify_cert", "verifyServerCertificate"),
];

/// The URL's TLS settings.
fn tls(settings: &mut Settings) -> Result<TlsOptions, Fault> {
    if settings.has("sslaccept") && settings.has("sslcert") && !settings.has("sslkey") {
        // In those URLs it names the authority.
        settings.alias("sslcert", "ssl-ca")?;
    }
    for (alias, setting) in ALIASES {
        settings.alias(alias, setting)?;
    }
    let mode = TLS.mode(settings)?;
    let mode = TLS.strictest(mode, take_legacy_tls(settings, mode.is_some())?)?;
    let mode = TLS.with_sslaccept(settings, mode)?;
    let roots = settings.take(TLS.roots);
    TLS.read(settings, mode, roots.as_deref())
}

/// The TLS switches that are not modes, from Java's drivers, mysql2, PyMySQL and JavaScript. Beside a mode, some of
/// them only say that there is TLS.
fn take_legacy_tls(settings: &mut Settings, has_mode: bool) -> Result<Option<TlsMode>, Fault> {
    let mut switch = |setting| -> Result<Option<bool>, Fault> {
        if settings.has(setting) { settings.yes_no(setting) } else { Ok(None) }
    };
    let uses = switch("useSSL")?;
    let requires = switch("requireSSL")?.unwrap_or(false);
    let verifies = switch("verifyServerCertificate")?.unwrap_or(false);
    let names =
        switch("ssl_verify_identity")?.unwrap_or(false) || switch("sslverify")?.unwrap_or(false);
    let is_off = switch("ssl_disabled")?.unwrap_or(false) || uses == Some(false);
    let ssl = TLS.ssl(settings, has_mode, TlsMode::VerifyFull)?;
    let off = is_off.then_some(TlsMode::Disable);
    let switches = [
        (names, TlsMode::VerifyFull),
        (verifies, TlsMode::VerifyCa),
        (requires, TlsMode::Require),
        (uses == Some(true), TlsMode::Prefer),
    ];
    let on = switches.into_iter().find_map(|(is_on, mode)| is_on.then_some(mode));
    // In Java, `useSSL=true` alone is `PREFERRED`, and `ssl=` may ask for more.
    TLS.strictest(off, on.max(ssl))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use super::*;

    fn read(settings: &str) -> Result<TlsMode, Fault> {
        let url = format!("mysql://me:s3ntinel@a/b?{settings}");
        MysqlOptions::from_url(&url).map(|options| options.sql.tls.mode)
    }

    #[test]
    fn of_several_modes_the_strictest_counts() {
        for (settings, mode) in [
            ("ssl-mode=REQUIRED&ssl_verify_identity=true", TlsMode::VerifyFull),
            ("ssl-mode=REQUIRED&ssl={\"rejectUnauthorized\":true}", TlsMode::VerifyFull),
            ("ssl-mode=REQUIRED&ssl=true", TlsMode::Require),
            ("ssl-mode=REQUIRED&useSSL=true", TlsMode::Require),
            ("ssl-mode=PREFERRED&requireSSL=true", TlsMode::Require),
            ("ssl-mode=PREFERRED&sslaccept=strict", TlsMode::VerifyFull),
            ("useSSL=false", TlsMode::Disable),
            ("ssl=true", TlsMode::VerifyFull),
        ] {
            assert_eq!(read(settings).unwrap(), mode, "{settings}");
        }
        // Without a name to verify, it needs an authority.
        read("ssl-mode=PREFERRED&verifyServerCertificate=true").unwrap_err();
    }

    #[test]
    fn tls_that_is_turned_on_and_off_is_refused() {
        for settings in [
            "useSSL=false&ssl=VERIFY_IDENTITY",
            "ssl_disabled=true&ssl=true",
            "ssl-mode=DISABLED&ssl=true",
            "useSSL=false&requireSSL=true",
            "tls=no&ssl_verify_identity=true",
        ] {
            let fault = read(settings).unwrap_err();
            assert!(format!("{fault:#}").contains("turns TLS off"), "{settings}: {fault:#}");
        }
    }
}
