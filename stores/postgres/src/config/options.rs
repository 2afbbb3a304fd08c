//! The options of the store.

use std::time::Duration;

use tenure_core::{Fault, FaultKind, proto::queue::Limits, store::Diagnostic};
use tenure_sql::{PasswordExposure, SqlOptions};

use crate::config::{logins::AuthenticationPolicy, session_options};

/// What to write for a server that is verified.
const STRICT: &str =
    "sslmode=verify-full (with sslrootcert= for a provider that has an authority of its own)";

/// Whether a login is bound to the certificate that the server showed, so that a server in between cannot pass it on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ChannelBindingMode {
    Disable,
    #[default]
    Prefer,
    Require,
}

/// The options of the store: how to reach a PostgreSQL database, and the limits of the queues.
///
/// All programs that use the same locks must use the same database and schema, and should use the same limits.
///
/// ```
/// use tenure_postgres::PostgresOptions;
///
/// let options = PostgresOptions::new([("db", 5432)], "shop")?
///     .user("me")
///     .password_from(|| async { Ok::<_, std::io::Error>("what the vault says now") })
///     .lock_schema("locks")?;
/// assert_eq!(options.location(), "postgres://db:5432/shop?lock_schema=locks");
///
/// let same = PostgresOptions::from_url("postgres://me:secret@db/shop?lock_schema=locks")?;
/// assert_eq!(same.location(), options.location());
/// # Ok::<(), tenure_core::Fault>(())
/// ```
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    pub(crate) sql: SqlOptions,
    pub(crate) schema: String,
    pub(crate) listens: bool,
    pub(crate) creates: bool,
    pub(crate) logins: Option<AuthenticationPolicy>,
    pub(crate) binding: ChannelBindingMode,
    /// Whether a server that takes no writes is refused.
    pub(crate) wants_primary: bool,
    /// Settings for the server's process, before those that tenure sets.
    pub(crate) session: Option<String>,
    /// The name of our sessions on the server.
    pub(crate) application: Option<String>,
    /// Whether the URL names `public` as the application's schema, which earlier versions used for the locks.
    pub(crate) is_public_named: bool,
}

impl PostgresOptions {
    /// The default of [`lock_schema`](PostgresOptions::lock_schema).
    pub const DEFAULT_SCHEMA: &'static str = "tenure";

    /// Uses the database on these servers: hosts, or paths of sockets, and ports. Of several servers, tenure uses the
    /// one that takes writes.
    ///
    /// # Errors
    /// A fault if there is no server, if one has no host or port, or if the database has no name.
    pub fn new<H: Into<String>>(
        servers: impl IntoIterator<Item = (H, u16)>,
        database: impl Into<String>,
    ) -> Result<Self, Fault> {
        Ok(Self {
            sql: SqlOptions::new(servers, database)?,
            schema: Self::DEFAULT_SCHEMA.to_owned(),
            listens: true,
            creates: true,
            logins: None,
            binding: ChannelBindingMode::default(),
            wants_primary: false,
            session: None,
            application: None,
            is_public_named: false,
        })
    }

    /// Sets the schema with the tables. Default: [`DEFAULT_SCHEMA`](Self::DEFAULT_SCHEMA).
    ///
    /// # Errors
    /// A fault if the name has characters other than a to z, digits and `_`, begins with a digit, or is longer than 63
    /// characters.
    pub fn lock_schema(mut self, schema: &str) -> Result<Self, Fault> {
        check_schema(schema)?;
        schema.clone_into(&mut self.schema);
        Ok(self)
    }

    /// Sets whether to create missing tables. Default: `true`. Otherwise they are an error, and
    /// [`schema()`](crate::schema()) returns the statements that create them.
    #[must_use]
    pub const fn create(mut self, yes: bool) -> Self {
        self.creates = yes;
        self
    }

    /// Sets whether to wait for the server's messages. Default: `true`. Otherwise waiters ask ten times a second.
    #[must_use]
    pub const fn listen(mut self, yes: bool) -> Self {
        self.listens = yes;
        self
    }

    /// Sets the name of tenure's sessions on the server. Default: `tenure`.
    #[must_use]
    pub fn application_name(mut self, name: impl Into<String>) -> Self {
        self.application = Some(name.into());
        self
    }

    /// Sets whether to refuse a single server too while it takes no writes. Of several servers, tenure always refuses
    /// those.
    #[must_use]
    pub const fn primary_alone(mut self, yes: bool) -> Self {
        self.wants_primary = yes;
        self
    }

    /// Sets whether the server must prove that it knows the password on the encrypted connection itself, so that a
    /// server in between cannot pass the login on: libpq's `channel_binding=require`.
    #[must_use]
    pub const fn bind_channel(mut self, yes: bool) -> Self {
        self.binding = if yes { ChannelBindingMode::Require } else { ChannelBindingMode::Prefer };
        self
    }

    /// Sets the authentication methods that the server may use, as in libpq's `require_auth`: a list of
    /// `scram-sha-256`, `md5`, `password` and `none`.
    ///
    /// # Errors
    /// A fault if the list has another method.
    pub fn require_auth(mut self, list: &str) -> Result<Self, Fault> {
        let wrong = |what| Fault::new(FaultKind::Misconfigured, what, "write scram-sha-256");
        self.logins = Some(AuthenticationPolicy::read(list).map_err(wrong)?);
        Ok(self)
    }

    /// Sets settings of the server's process, as in libpq's `options`: `-c name=value`. The settings that tenure needs
    /// follow these.
    ///
    /// # Errors
    /// A fault if `text` sets what tenure has to set.
    pub fn session_options(mut self, text: &str) -> Result<Self, Fault> {
        let wrong = |(what, help): (String, &str)| Fault::new(FaultKind::Misconfigured, what, help);
        session_options::check(text).map_err(wrong)?;
        self.session = Some(text.to_owned()).filter(|text| !text.trim().is_empty());
        Ok(self)
    }

    /// Checks what depends on several options.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        self.sql.check()?;
        if self.binding == ChannelBindingMode::Require && !self.sql.tls.is_wanted() {
            let what = "the password is to be bound to TLS, but nothing is encrypted";
            let help = "turn on TLS, too: TlsMode::VerifyFull";
            return Err(Fault::new(FaultKind::Misconfigured, what, help));
        }
        Ok(())
    }

    /// Returns the location of the database, without user and password.
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
        let is_bound = self.binding == ChannelBindingMode::Require;
        self.sql.unprotected(
            if is_bound { PasswordExposure::Mutual } else { PasswordExposure::Proof },
            STRICT,
        )
    }

    /// The limits while no wake-ups arrive.
    pub(crate) fn limits_without_wakeups(&self) -> Limits {
        Limits { look: Duration::from_millis(100), ..self.sql.limits }
    }
}

tenure_sql::setters!(PostgresOptions);

/// Checks a name that means the same with quotes and without.
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
