//! Whether a connection is encrypted, and what is verified of the server.

use tenure_core::{Fault, FaultKind, store::Diagnostic};
use tenure_url::{Certificates, Dialect};

/// Whether a connection is encrypted, and what is verified of the server. Each mode protects against more than the one
/// before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum TlsMode {
    /// No encryption: libpq's `disable`, MySQL's `DISABLED`.
    #[default]
    Disable,
    /// Encrypted if the server supports TLS, otherwise in the clear: libpq's `prefer`, MySQL's `PREFERRED`. An attacker
    /// on the network can force either, read everything, and impersonate the server.
    Prefer,
    /// Encrypted, with any server: libpq's `require`, MySQL's `REQUIRED`. Listening alone is not enough. An active
    /// attacker on the network can still read everything and impersonate the server. With authorities, this is the same
    /// as [`VerifyCa`](Self::VerifyCa).
    Require,
    /// Encrypted, with a server whose certificate is signed by one of the named authorities, whatever name is in it:
    /// libpq's `verify-ca`, MySQL's `VERIFY_CA`.
    VerifyCa,
    /// Encrypted, with a server whose certificate is signed by an authority and has the host's name: libpq's
    /// `verify-full`, MySQL's `VERIFY_IDENTITY`.
    VerifyFull,
}

impl TlsMode {
    /// Reads a mode as libpq, MySQL's clients and drivers write it, in upper or lower case: `verify-full`,
    /// `VERIFY_IDENTITY`.
    ///
    /// ```
    /// use tenure_sql::TlsMode;
    ///
    /// assert_eq!(TlsMode::from_name("VERIFY_IDENTITY"), Some(TlsMode::VerifyFull));
    /// assert_eq!(TlsMode::from_name("verify-full"), Some(TlsMode::VerifyFull));
    /// assert_eq!(TlsMode::from_name("yes"), None);
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match &*name.to_ascii_lowercase().replace('_', "-") {
            "disable" | "disabled" => Self::Disable,
            "allow" | "prefer" | "preferred" => Self::Prefer,
            // The last two are from MariaDB's Connector/J and from node-postgres.
            "require" | "required" | "trust" | "no-verify" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" | "verify-identity" => Self::VerifyFull,
            _ => return None,
        })
    }
}

impl TlsMode {
    /// Returns the stricter of two modes in a URL, so that no setting gets less than it asks for. `setting` is the name
    /// of the mode in the database's URLs.
    ///
    /// # Errors
    /// A fault if one mode turns TLS off and the other turns it on.
    pub fn strictest(
        dialect: Dialect,
        setting: &str,
        one: Option<Self>,
        other: Option<Self>,
    ) -> Result<Option<Self>, Fault> {
        let off = Some(Self::Disable);
        let all = one.max(other);
        if (one == off || other == off) && all > off {
            let message = "one of its settings turns TLS off, and another one on";
            return Err(dialect.wrong_but(message, format!("write {setting}= alone")));
        }
        Ok(all)
    }
}

/// The encryption of connections.
#[derive(Clone, Debug, Default)]
pub struct TlsOptions {
    /// Whether connections are encrypted, and what is verified.
    pub mode: TlsMode,
    /// The certificates that connections trust, and the client certificate.
    pub certificates: Certificates,
    /// Whether `certificates` has a client certificate.
    pub identifies: bool,
}

impl TlsOptions {
    /// Reads the settings of a URL: a mode, and files by their settings. A URL that names a file expects it to be used,
    /// so without a mode everything is verified.
    ///
    /// # Errors
    /// A fault if a file cannot be read or has nothing of its kind, or if others may read the key. Also the faults of
    /// [`Self::check`].
    pub fn read(
        mode: Option<TlsMode>,
        roots: (&str, Option<&str>),
        certificate: (&str, Option<&str>),
        key: (&str, Option<&str>),
    ) -> Result<Self, Fault> {
        let identifies = certificate.1.is_some() || key.1.is_some();
        let usual =
            if identifies || roots.1.is_some() { TlsMode::VerifyFull } else { TlsMode::Disable };
        let certificates = Certificates::read(roots, certificate, key)?;
        let read = Self { mode: mode.unwrap_or(usual), certificates, identifies };
        read.check()?;
        Ok(read)
    }

    /// Returns whether a connection may be encrypted.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.mode != TlsMode::Disable
    }

    /// Returns whether a connection without encryption is refused.
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.mode > TlsMode::Prefer
    }

    /// Returns what is verified of a server with TLS: nothing, its certificate, or its name too.
    #[must_use]
    pub fn verified(&self) -> TlsMode {
        match self.mode {
            TlsMode::Prefer | TlsMode::Require if self.certificates.names_roots() => {
                TlsMode::VerifyCa
            }
            mode => mode,
        }
    }

    /// Returns whether the server's identity is known on an encrypted connection.
    #[must_use]
    pub fn knows_server(&self) -> bool {
        self.verified() >= TlsMode::VerifyCa
    }

    /// Refuses settings that contradict each other, or verify less than they seem to.
    ///
    /// # Errors
    /// A fault that says what to write instead.
    pub fn check(&self) -> Result<(), Fault> {
        let wrong = |what: &str, help: &str| Err(Fault::new(FaultKind::Misconfigured, what, help));
        if !self.is_wanted() && self.certificates.names_roots() {
            return wrong("authorities need TLS", "also write tls=yes");
        }
        if !self.is_wanted() && self.identifies {
            return wrong("a client's certificate needs TLS", "also write tls=yes");
        }
        if self.mode == TlsMode::VerifyCa && !self.certificates.names_roots() {
            return wrong(
                "without a name to verify, any certificate from an authority of the system would \
                 be accepted",
                "also verify the name (verify-full, VERIFY_IDENTITY), or name a file with the \
                 authorities: ca=",
            );
        }
        Ok(())
    }

    /// Returns what to warn of on the way to these hosts; `None` if they are certainly this machine.
    #[must_use]
    pub fn unprotected<'a>(
        &self,
        hosts: impl IntoIterator<Item = &'a str>,
        login: PasswordExposure,
        strict: &str,
    ) -> Option<Diagnostic> {
        let help = format!("write {strict} in the URL");
        let can = match self.mode {
            TlsMode::Disable => return Diagnostic::in_clear(hosts, help),
            TlsMode::Prefer if login == PasswordExposure::Given => {
                "turn encryption off or impersonate the server, take the password and the locks, \
                 and read the traffic"
            }
            TlsMode::Prefer => "turn encryption off, take the locks, and read the traffic",
            TlsMode::Require if self.knows_server() || login == PasswordExposure::Mutual => {
                return None;
            }
            TlsMode::Require if login == PasswordExposure::Given => {
                "impersonate the server, take the password and the locks, and read the traffic"
            }
            TlsMode::Require => "impersonate the server, take the locks, and read the traffic",
            TlsMode::VerifyCa | TlsMode::VerifyFull => return None,
        };
        let hosts: Vec<_> = hosts.into_iter().collect();
        let mut diagnostic = Diagnostic::in_clear(hosts.iter().copied(), help)?;
        diagnostic.found = format!(
            "nothing proves that {} is the server: an attacker on the network can {can}",
            hosts.join(", ")
        );
        Some(diagnostic)
    }
}

/// What a login over TLS reveals of the password, and proves of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasswordExposure {
    /// The server proves on this connection that it knows the password.
    Mutual,
    /// A proof of the password.
    Proof,
    /// The password itself.
    Given,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use tenure_core::store::Severity;

    use super::*;

    fn options(mode: TlsMode) -> TlsOptions {
        TlsOptions { mode, ..TlsOptions::default() }
    }

    #[test]
    fn modes_are_read_as_libpq_mysql_and_drivers_have_them() {
        for (names, mode) in [
            (&["disable", "DISABLED"][..], TlsMode::Disable),
            (&["allow", "prefer", "PREFERRED"], TlsMode::Prefer),
            (&["require", "REQUIRED", "trust", "no-verify"], TlsMode::Require),
            (&["verify-ca", "VERIFY_CA", "verify_ca"], TlsMode::VerifyCa),
            (&["verify-full", "VERIFY_IDENTITY", "verify_identity"], TlsMode::VerifyFull),
        ] {
            for name in names {
                assert_eq!(TlsMode::from_name(name), Some(mode), "{name}");
            }
        }
        for name in ["", "on", "verify", "true"] {
            assert_eq!(TlsMode::from_name(name), None, "{name}");
        }
    }

    #[test]
    fn authorities_are_never_named_in_vain() {
        let certificates = || Certificates::default().trust(tenure_url::Pem::text(b"any"));
        let named = |mode| TlsOptions { certificates: certificates(), ..options(mode) };
        for mode in [TlsMode::Prefer, TlsMode::Require, TlsMode::VerifyCa] {
            assert_eq!(named(mode).verified(), TlsMode::VerifyCa);
        }
        assert_eq!(named(TlsMode::VerifyFull).verified(), TlsMode::VerifyFull);
        named(TlsMode::Disable).check().unwrap_err();
        options(TlsMode::VerifyCa).check().unwrap_err();
        options(TlsMode::VerifyFull).check().unwrap();
    }

    #[test]
    fn what_a_mode_does_not_protect_from_is_said() {
        let found = |mode, login| options(mode).unprotected(["db.example"], login, "tls=yes");
        for (mode, says) in [
            (TlsMode::Disable, "nothing is encrypted"),
            (TlsMode::Prefer, "turn encryption off"),
            (TlsMode::Require, "impersonate the server"),
        ] {
            let diagnostic = found(mode, PasswordExposure::Proof).unwrap();
            assert_eq!(diagnostic.severity, Severity::Warning);
            assert!(diagnostic.found.contains(says), "{diagnostic:?}");
            assert!(diagnostic.found.contains("db.example"), "{diagnostic:?}");
            assert!(diagnostic.help.unwrap().contains("tls=yes"));
        }
        assert!(found(TlsMode::VerifyFull, PasswordExposure::Given).is_none());
        assert!(
            found(TlsMode::Require, PasswordExposure::Mutual).is_none(),
            "it proves that it is the server"
        );
        assert!(
            found(TlsMode::Prefer, PasswordExposure::Mutual).is_some(),
            "it may be in the clear"
        );
        for mode in [TlsMode::Prefer, TlsMode::Require] {
            let given = found(mode, PasswordExposure::Given).unwrap().found;
            assert!(given.contains("take the password"), "{given}");
        }
        let require = options(TlsMode::Require);
        assert!(
            require.unprotected(["localhost", "::1"], PasswordExposure::Given, "tls=yes").is_none()
        );
    }
}
