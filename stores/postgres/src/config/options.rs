//! How a PostgreSQL database is reached.

use std::time::Duration;

use tenure_core::{Fault, FaultKind, proto::queue::Limits, store::Diagnostic};
use tenure_sql::{PasswordExposure, SqlOptions};

use crate::config::{logins::AuthenticationPolicy, session_options};

/// What to write for a server that is verified.
const STRICT: &str =
    "sslmode=verify-full (with sslrootcert= for a provider that has an authority of its own)";

/// Whether a login is bound to the certificate that the server has shown, so that nobody in between can pass it on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ChannelBindingMode {
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

    /// The database on these servers, of which the one that takes writes is used: hosts, or paths of sockets, and ports.
    ///
    /// # Errors
    /// A fault if no server is named, one has no host or port, or the database has no name.
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

    /// The schema with the tables; [`DEFAULT_SCHEMA`](Self::DEFAULT_SCHEMA) unless said otherwise.
    ///
    /// # Errors
    /// A fault if it is not one of at most 63 of a to z, digits and `_`.
    pub fn lock_schema(mut self, schema: &str) -> Result<Self, Fault> {
        check_schema(schema)?;
        schema.clone_into(&mut self.schema);
        Ok(self)
    }

    /// Whether tables that are not there are made; `true` unless said otherwise. Else they are an error, and
    /// [`schema()`](crate::schema()) says how they are made.
    #[must_use]
    pub const fn create(mut self, yes: bool) -> Self {
        self.creates = yes;
        self
    }

    /// Whether messages are waited for; `true` unless said otherwise. Else waiters look by themselves, ten times a second.
    #[must_use]
    pub const fn listen(mut self, yes: bool) -> Self {
        self.listens = yes;
        self
    }

    /// What the server calls our sessions; `tenure` unless said otherwise.
    #[must_use]
    pub fn application_name(mut self, name: impl Into<String>) -> Self {
        self.application = Some(name.into());
        self
    }

    /// Whether one server, too, is refused while it takes no writes. Of several, those always are.
    #[must_use]
    pub const fn primary_alone(mut self, yes: bool) -> Self {
        self.wants_primary = yes;
        self
    }

    /// Whether the server has to prove that it knows the password on the very connection that is encrypted, so that nobody
    /// in between can pass the login on: libpq's `channel_binding=require`.
    #[must_use]
    pub const fn bind_channel(mut self, yes: bool) -> Self {
        self.binding = if yes { ChannelBindingMode::Require } else { ChannelBindingMode::Prefer };
        self
    }

    /// In which ways the server may have the user recognized, as libpq's `require_auth` lists them: some of
    /// `scram-sha-256`, `md5`, `password` and `none`.
    ///
    /// # Errors
    /// A fault if the list has something else.
    pub fn require_auth(mut self, list: &str) -> Result<Self, Fault> {
        let wrong = |what| Fault::new(FaultKind::Misconfigured, what, "write scram-sha-256");
        self.logins = Some(AuthenticationPolicy::read(list).map_err(wrong)?);
        Ok(self)
    }

    /// What the server's process is told, as libpq's `options` has it: `-c name=value`. What tenure tells it comes behind.
    ///
    /// # Errors
    /// A fault if it sets what tenure has to set.
    pub fn session_options(mut self, text: &str) -> Result<Self, Fault> {
        let wrong = |(what, help): (String, &str)| Fault::new(FaultKind::Misconfigured, what, help);
        session_options::check(text).map_err(wrong)?;
        self.session = Some(text.to_owned()).filter(|text| !text.trim().is_empty());
        Ok(self)
    }

    /// What can only be seen when all is said.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        self.sql.check()?;
        if self.binding == ChannelBindingMode::Require && !self.sql.tls.is_wanted() {
            let what = "the password is to be bound to TLS, but nothing is encrypted";
            let help = "turn on TLS, too: TlsMode::VerifyFull";
            return Err(Fault::new(FaultKind::Misconfigured, what, help));
        }
        Ok(())
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
        let is_bound = self.binding == ChannelBindingMode::Require;
        self.sql.unprotected(
            if is_bound { PasswordExposure::Mutual } else { PasswordExposure::Proof },
            STRICT,
        )
    }

    /// The bounds where nobody is woken.
    pub(crate) fn limits_when_deaf(&self) -> Limits {
        Limits { look: Duration::from_millis(100), ..self.sql.limits }
    }
}

tenure_sql::setters!(PostgresOptions);

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
