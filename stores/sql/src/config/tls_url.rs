//! TLS settings in URLs, with the names of the database's clients, of drivers and of frameworks.

use tenure_core::Fault;
use tenure_url::{Dialect, Settings, yes_no};

use crate::{TlsMode, TlsOptions};

/// The names of the TLS settings in a database's URLs.
#[derive(Clone, Copy, Debug)]
pub struct TlsSettings {
    /// The syntax of the URLs.
    pub dialect: Dialect,
    /// The setting with the mode, and its values.
    pub mode: (&'static str, &'static [&'static str]),
    /// JavaScript objects with which `ssl` verifies everything.
    pub verifying: &'static [&'static str],
    /// The setting with the servers' authorities.
    pub roots: &'static str,
    /// The setting with the client certificate.
    pub certificate: &'static str,
    /// The setting with the certificate's key.
    pub key: &'static str,
}

impl TlsSettings {
    /// Takes the mode, from its own setting or from `tls`.
    ///
    /// # Errors
    /// A fault if it is unknown, or the two contradict each other.
    pub fn mode(&self, settings: &mut Settings) -> Result<Option<TlsMode>, Fault> {
        let (setting, known) = self.mode;
        let ours = settings.yes_no("tls")?;
        let ours = ours.map(|is| if is { TlsMode::VerifyFull } else { TlsMode::Disable });
        let Some(name) = settings.take(setting) else { return Ok(ours) };
        let mode = TlsMode::from_name(&name);
        let mode = mode.ok_or_else(|| self.dialect.unknown_value(setting, &name, known))?;
        if ours.is_some_and(|ours| ours != mode) {
            return Err(self.dialect.wrong(format!("{setting} contradicts tls")));
        }
        Ok(Some(mode))
    }

    /// Takes `ssl`, as drivers write it: a yes, which verifies what `yes` says, a no, a JavaScript object, or a mode.
    /// Beside a mode, a yes only says that there is TLS.
    ///
    /// # Errors
    /// A fault if it has an unknown value.
    pub fn ssl(
        &self,
        settings: &mut Settings,
        has_mode: bool,
        yes: TlsMode,
    ) -> Result<Option<TlsMode>, Fault> {
        if !settings.has("ssl") {
            return Ok(None);
        }
        let text = settings.take("ssl").unwrap_or_default();
        let mode = match (yes_no(&text), &*text) {
            (Ok(true), _) | (_, "") if has_mode => TlsMode::Prefer,
            (Ok(true), _) | (_, "") => yes,
            (_, object) if self.verifying.contains(&object) => yes,
            (Ok(false), _) => TlsMode::Disable,
            (_, "{\"rejectUnauthorized\":false}") => TlsMode::Require,
            (_, name) => TlsMode::from_name(name).ok_or_else(|| {
                let help =
                    format!("write ssl=true, or {}= with what is to be verified", self.mode.0);
                self.dialect.wrong_but("ssl has an unknown value", help)
            })?,
        };
        Ok(Some(mode))
    }

    /// Takes `sslaccept`, as Prisma writes it, and combines it with the mode from other settings.
    ///
    /// # Errors
    /// A fault if it has an unknown value.
    pub fn with_sslaccept(
        &self,
        settings: &mut Settings,
        mode: Option<TlsMode>,
    ) -> Result<Option<TlsMode>, Fault> {
        if !settings.has("sslaccept") {
            return Ok(mode);
        }
        let words = [("strict", TlsMode::VerifyFull), ("accept_invalid_certs", TlsMode::Prefer)];
        Ok(match settings.word("sslaccept", &words)? {
            Some(TlsMode::VerifyFull) => Some(TlsMode::VerifyFull),
            other => mode.or(other),
        })
    }

    /// Returns the stricter of two modes: [`TlsMode::strictest`].
    ///
    /// # Errors
    /// A fault if one mode turns TLS off and the other turns it on.
    pub fn strictest(
        &self,
        one: Option<TlsMode>,
        other: Option<TlsMode>,
    ) -> Result<Option<TlsMode>, Fault> {
        TlsMode::strictest(self.dialect, self.mode.0, one, other)
    }

    /// Takes the client certificate and its key, and reads them and the authorities.
    ///
    /// # Errors
    /// A fault if a certificate has no key. Also the faults of [`TlsOptions::read`].
    pub fn read(
        &self,
        settings: &mut Settings,
        mode: Option<TlsMode>,
        roots: Option<&str>,
    ) -> Result<TlsOptions, Fault> {
        let certificate = settings.take(self.certificate);
        let key = settings.take(self.key);
        if certificate.is_some() && key.is_none() {
            return Err(self.dialect.wrong_but(
                format!(
                    "{} names a client's certificate, and {} no key for it",
                    self.certificate, self.key
                ),
                format!("name the key, or write {}= for the authority of the server", self.roots),
            ));
        }
        TlsOptions::read(
            mode,
            (self.roots, roots),
            (self.certificate, certificate.as_deref()),
            (self.key, key.as_deref()),
        )
    }
}
