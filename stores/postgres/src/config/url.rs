//! Options from a URL, as libpq, frameworks and hosting providers write them.

use tenure_core::Fault;
use tenure_sql::{SqlOptions, TlsMode, TlsOptions, TlsSettings, UrlParts};
use tenure_url::{Dialect, Settings};

use crate::{
    PostgresOptions,
    config::{
        foreign::{FOREIGN, REFUSED},
        logins::AuthenticationPolicy,
        options::{ChannelBindingMode, check_schema},
        session_options,
    },
};

/// The syntax of PostgreSQL's URLs.
pub(crate) const DIALECT: Dialect = Dialect {
    store: "PostgreSQL",
    schemes: &["postgres", "postgresql", "pgsql", "psql", "postgis"],
    example: "postgres://user:password@host/database, or with ?lock_schema=locks&sslmode=verify-full",
};

/// The names of the TLS settings in these URLs.
const TLS: TlsSettings = TlsSettings {
    dialect: DIALECT,
    mode: ("sslmode", &["disable", "prefer", "require", "verify-ca", "verify-full"]),
    verifying: &["{\"rejectUnauthorized\":true}"],
    roots: "sslrootcert",
    certificate: "sslcert",
    key: "sslkey",
};
/// The default port.
const PORT: u16 = 5432;

impl PostgresOptions {
    /// Returns the options in a URL: `postgres://[user[:password]@]host[:port][,host[:port]…]/database`, with these
    /// settings.
    ///
    /// | setting | meaning |
    /// |---|---|
    /// | `lock_schema=` | the schema with the tables. Default: `tenure` |
    /// | `create=no` | missing tables are an error: [`schema()`](crate::schema()) returns the statements that create them |
    /// | `listen=no` | does not wait for messages, as behind a pooler that keeps no session: waiters ask ten times a second |
    /// | `sslmode=` | [`TlsMode`], with libpq's names. Default: `disable`, or `verify-full` if authorities are named. `tls=yes` is `verify-full` |
    /// | `sslrootcert=`, `ca=` | a PEM file with the authorities to trust instead of the system's; `system` for the system's |
    /// | `sslcert=`, `sslkey=` | PEM files with a client certificate and its key; no other user may read the key |
    /// | `channel_binding=` | `require`: the server must prove that it knows the password on the encrypted connection itself; `disable` or `prefer` |
    /// | `require_auth=` | the authentication methods that the server may use, as in libpq: a list of `scram-sha-256`, `md5`, `password` and `none`. Default: all of them if the server is known, as by its certificate and by a socket in the file system, otherwise `scram-sha-256` and `none` |
    /// | `target_session_attrs=` | `read-write` or `primary`: refuses a single server too while it takes no writes |
    /// | `application_name=` | the name of tenure's sessions on the server. Default: `tenure` |
    /// | `options=` | settings of the server's process: `-c name=value`. The settings that tenure needs follow these |
    /// | `connections=` | the most connections over which to spread calls while they delay each other, 1 to 64. Default: 4. Messages, renewals and background work have one more, and renewals another one while all are busy |
    /// | `connect_timeout=`, `response_timeout=` | 10 ms to 1 min, in `ms` or `s`, the first also in seconds without a unit. Default: 5 s |
    /// | `claim_window=`, `position_ttl=` | how long a waiter has to claim the lock that it is offered, 10 ms to 10 s, and how long its queue position is kept, 100 ms to 10 min. Default: 500 ms and 10 s |
    /// | `max_waiters=`, `max_holders=` | the most waiters and holders of one name, 1 to 10,000. Default: 1,000 |
    /// | `password_file=` | a file with the password, which is read at each login; only its owner may read it |
    /// | `host=`, `port=`, `user=`, `password=`, `dbname=` | instead of the part before the settings, as in libpq: `postgres://me@/shop?host=/run/postgresql` |
    ///
    /// Of several hosts, tenure uses the one that takes writes. Percent-encode special characters in a user, a password
    /// or a database. [The page on the store](https://github.com/tenure-rs/tenure/blob/main/docs/stores/postgres.md)
    /// lists the settings of frameworks and hosting providers that tenure accepts, ignores and refuses.
    ///
    /// # Errors
    /// A fault that says what is wrong. It never shows a password.
    pub fn from_url(url: &str) -> Result<Self, Fault> {
        read(url)
    }
}

fn read(url: &str) -> Result<PostgresOptions, Fault> {
    let mut parts = UrlParts::read(DIALECT, PORT, true, url)?;
    let settings = &mut parts.settings;
    let (schema, is_public_named) = schema(settings)?;
    let listens = settings.yes_no("listen")?.unwrap_or(true);
    let creates = settings.yes_no("create")?.unwrap_or(true);
    let logins = settings.take("require_auth");
    let binding = binding(settings)?;
    let wants_primary = wants_primary(settings)?;
    let session = settings.take("options").filter(|text| !text.trim().is_empty());
    settings.alias("ApplicationName", "application_name")?;
    let application = settings.take("application_name");
    let tls = tls(settings)?;
    let sql = SqlOptions::of(&mut parts, tls)?;
    if binding == ChannelBindingMode::Require && !sql.tls.is_wanted() {
        return Err(DIALECT.wrong_but(
            "channel_binding=require binds the password to TLS, but nothing is encrypted",
            "also write sslmode=require, or better verify-full",
        ));
    }
    check_schema(&schema)?;
    if let Some(text) = &session {
        session_options::check(text).map_err(|(what, help)| DIALECT.wrong_but(what, help))?;
    }
    let logins =
        logins.map(|list| AuthenticationPolicy::read(&list).map_err(|what| DIALECT.wrong(what)));
    let logins = logins.transpose()?;
    parts.finish("postgres", REFUSED, FOREIGN)?;
    Ok(PostgresOptions {
        sql,
        schema,
        is_public_named,
        listens,
        creates,
        logins,
        binding,
        wants_primary,
        session,
        application,
    })
}

/// The schema with the tables, and whether the URL names `public` as the application's schema.
fn schema(settings: &mut Settings) -> Result<(String, bool), Fault> {
    let ours = settings.take("lock_schema");
    let theirs = if settings.has("schema") { settings.take("schema") } else { None };
    match (ours, theirs) {
        (Some(ours), _) => Ok((ours, false)),
        (None, Some(theirs)) if theirs != "public" => {
            // Until it is named, processes of an earlier version would use `public`, and this version another schema.
            let what = "schema is the application's schema, as in Prisma, and was that of the locks in earlier versions of tenure";
            let help =
                "also write lock_schema=: the same name if it has locks already, otherwise tenure";
            Err(DIALECT.wrong_but(what, help))
        }
        (None, theirs) => Ok((PostgresOptions::DEFAULT_SCHEMA.to_owned(), theirs.is_some())),
    }
}

fn binding(settings: &mut Settings) -> Result<ChannelBindingMode, Fault> {
    settings.alias("channelBinding", "channel_binding")?;
    let words = [
        ("disable", ChannelBindingMode::Disable),
        ("prefer", ChannelBindingMode::Prefer),
        ("require", ChannelBindingMode::Require),
    ];
    Ok(settings.word("channel_binding", &words)?.unwrap_or_default())
}

/// Whether a server that takes no writes is refused, also if it is the only one.
fn wants_primary(settings: &mut Settings) -> Result<bool, Fault> {
    settings.alias("targetServerType", "target_session_attrs")?;
    match settings.take("target_session_attrs").as_deref() {
        None | Some("any") => Ok(false),
        Some("read-write" | "primary" | "master") => Ok(true),
        Some(_) => Err(DIALECT.wrong_but(
            "target_session_attrs allows a server that takes no writes, but a lock is a write",
            "write target_session_attrs=read-write, and name the primary among the hosts",
        )),
    }
}

/// The URL's TLS settings, with the names of libpq, pgjdbc, asyncpg, node-postgres, sqlx, Prisma and tenure.
fn tls(settings: &mut Settings) -> Result<TlsOptions, Fault> {
    for (alias, setting) in ALIASES {
        settings.alias(alias, setting)?;
    }
    let mut mode = TLS.mode(settings)?;
    if settings.has("ssl") {
        let verified = verified_by_java(settings)?;
        mode = TLS.strictest(mode, TLS.ssl(settings, mode.is_some(), verified)?)?;
    }
    if settings.has("requiressl") && settings.yes_no("requiressl")? == Some(true) {
        mode = TLS.strictest(mode, Some(TlsMode::Require))?;
    }
    mode = TLS.with_sslaccept(settings, mode)?;
    let mut roots = settings.take("sslrootcert");
    if roots.as_deref() == Some("system") {
        // As in libpq: anyone can have a certificate for a name that is not verified.
        if mode.is_some_and(|mode| mode != TlsMode::VerifyFull) {
            return Err(DIALECT.wrong_but(
                "with sslrootcert=system any certificate would be accepted, as its name is not \
                 verified",
                "write sslmode=verify-full",
            ));
        }
        roots = None;
        mode = Some(TlsMode::VerifyFull);
    }
    TLS.read(settings, mode, roots.as_deref())
}

/// Names of settings in sqlx, Prisma and others, and ours.
const ALIASES: [(&str, &str); 8] = [
    ("ssl-mode", "sslmode"),
    ("sslMode", "sslmode"),
    ("ssl_mode", "sslmode"),
    ("ca", "sslrootcert"),
    ("ssl-root-cert", "sslrootcert"),
    ("ssl-ca", "sslrootcert"),
    ("ssl-cert", "sslcert"),
    ("ssl-key", "sslkey"),
];

/// What `ssl=true` verifies: with Java's driver everything, unless the URL names a factory that does not.
fn verified_by_java(settings: &mut Settings) -> Result<TlsMode, Fault> {
    if !settings.has("sslfactory") {
        return Ok(TlsMode::VerifyFull);
    }
    match settings.take("sslfactory").as_deref() {
        Some("org.postgresql.ssl.NonValidatingFactory") => Ok(TlsMode::Require),
        _ => Err(DIALECT.wrong_but("sslfactory is a Java class", "write sslmode=")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use super::*;

    fn mode_of(settings: &str) -> Result<TlsMode, Fault> {
        let url = format!("postgres://me:s3ntinel@a/b?{settings}");
        PostgresOptions::from_url(&url).map(|options| options.sql.tls.mode)
    }

    #[test]
    fn of_several_modes_the_strictest_counts() {
        for (settings, mode) in [
            ("sslmode=require&ssl={\"rejectUnauthorized\":true}", TlsMode::VerifyFull),
            ("sslmode=require&ssl=true", TlsMode::Require),
            ("sslmode=prefer&requiressl=1", TlsMode::Require),
            ("ssl=true", TlsMode::VerifyFull),
        ] {
            assert_eq!(mode_of(settings).unwrap(), mode, "{settings}");
        }
        for settings in ["sslmode=disable&ssl=true", "ssl=false&requiressl=1", "tls=no&ssl=true"] {
            let fault = mode_of(settings).unwrap_err();
            assert!(format!("{fault:#}").contains("turns TLS off"), "{settings}: {fault:#}");
        }
    }
}
