//! Certificates and keys, in PEM.

#[cfg(feature = "tls")]
use std::sync::OnceLock;
use std::{fmt, sync::Arc};

use tenure_core::{Fault, FaultKind, files};

use crate::secret_file::{KEEP_CLOSED, is_open};

/// A text in the first line of a private key.
const KEY: &str = "PRIVATE KEY";
/// A text in the first line of a certificate.
const CERTIFICATE: &str = "CERTIFICATE";
/// More than all authorities of a system need.
const LONGEST: u64 = 8 * 1024 * 1024;

/// A text in PEM, and its origin. No text ever shows its content.
#[derive(Clone)]
pub struct Pem {
    /// What named it, for errors.
    origin: Arc<str>,
    text: Arc<[u8]>,
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A key is as secret as a password.
        f.debug_struct("Pem").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl Pem {
    /// Makes a PEM text from bytes that the program has.
    #[must_use]
    pub fn text(text: &[u8]) -> Self {
        Self { origin: "the given PEM text".into(), text: text.into() }
    }

    /// Reads the file at `path`, which the setting `setting` names. It reads no pipes or devices, and at most 8 MiB.
    ///
    /// # Errors
    /// A fault that names the file.
    pub fn file(setting: &str, path: &str) -> Result<Self, Fault> {
        Self::read(setting, path, false)
    }

    /// Reads the private key in the file at `path`. Only the file's owner may be able to read it. Two exceptions:
    /// root's file may be readable by its group, and a file below `/run/secrets`, where containers keep their secrets,
    /// by every user.
    ///
    /// # Errors
    /// A fault that names the file.
    pub fn key_file(setting: &str, path: &str) -> Result<Self, Fault> {
        Self::read(setting, path, true)
    }

    fn read(setting: &str, path: &str, is_key: bool) -> Result<Self, Fault> {
        let read = files::read(path.as_ref(), LONGEST).map_err(|error| {
            let what = format!("cannot read the file {path} that {setting} names");
            let help = "correct the path, or make the file readable";
            Fault::new(FaultKind::Misconfigured, what, help).because(error)
        })?;
        if is_key && is_open(path, &read) {
            let what =
                format!("other users can read or change the key {path} that {setting} names");
            return Err(Fault::new(FaultKind::Misconfigured, what, KEEP_CLOSED));
        }
        Ok(Self {
            origin: format!("the file {path} that {setting} names").into(),
            text: read.bytes.into(),
        })
    }

    /// Returns the content.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.text
    }

    /// What named it, for errors.
    #[cfg(feature = "tls")]
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// The fault of this text.
    pub(crate) fn wrong(&self, what: impl fmt::Display, help: &str) -> Fault {
        let what = format!("{} {what}", self.origin);
        Fault::new(FaultKind::Misconfigured, what, help)
    }

    /// Without anything of its kind, no server would be trusted.
    fn has(&self, kind: &str) -> Result<(), Fault> {
        let mark = format!("{kind}-----");
        if self.text.windows(mark.len()).any(|window| window == mark.as_bytes()) {
            return Ok(());
        }
        let is_other =
            |other: &str| self.text.windows(other.len()).any(|it| it == other.as_bytes());
        let what = match kind {
            CERTIFICATE if is_other(KEY) => format!("holds no {kind} in PEM, but a key"),
            KEY if is_other(CERTIFICATE) => format!("holds no {kind} in PEM, but a certificate"),
            _ => format!("holds no {kind} in PEM"),
        };
        let help = match kind {
            KEY => "name a file that begins with -----BEGIN and the kind of key",
            _ => {
                "name a file with -----BEGIN CERTIFICATE-----; to convert DER: openssl x509 \
                 -inform der -in ca.der -out ca.pem"
            }
        };
        Err(self.wrong(what, help))
    }
}

/// The authorities that TLS connections trust, and the client certificate.
///
/// By default, connections trust the authorities of the system, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name.
#[derive(Clone, Debug, Default)]
pub struct Certificates {
    pub(crate) roots: Option<Pem>,
    pub(crate) own: Option<(Pem, Pem)>,
    /// The configuration made from them, once.
    #[cfg(feature = "tls")]
    pub(crate) made: Arc<OnceLock<Arc<rustls::ClientConfig>>>,
}

impl Certificates {
    fn of(roots: Option<Pem>, own: Option<(Pem, Pem)>) -> Self {
        Self {
            roots,
            own,
            // A configuration made from others is of no use.
            #[cfg(feature = "tls")]
            made: Arc::default(),
        }
    }

    /// Trusts these authorities and no others.
    #[must_use]
    pub fn trust(self, roots: Pem) -> Self {
        Self::of(Some(roots), self.own)
    }

    /// Shows this certificate to a server that asks for one. `key` proves it.
    #[must_use]
    pub fn identify(self, certificate: Pem, key: Pem) -> Self {
        Self::of(self.roots, Some((certificate, key)))
    }

    /// Returns whether this names the authorities to trust.
    #[must_use]
    pub const fn names_roots(&self) -> bool {
        self.roots.is_some()
    }

    /// Returns whether this names authorities or a client certificate, which are useful only with TLS.
    #[must_use]
    pub const fn are_given(&self) -> bool {
        self.roots.is_some() || self.own.is_some()
    }

    /// Reads the files that settings name: each is the setting and, if it is given, the path.
    ///
    /// # Errors
    /// A fault that names a file that cannot be read or has nothing of its kind, or a key that other users may read.
    /// With the feature `tls`, also a fault that names a file that cannot be used. A fault if only one of a client
    /// certificate and its key is given.
    pub fn read(
        roots: (&str, Option<&str>),
        certificate: (&str, Option<&str>),
        key: (&str, Option<&str>),
    ) -> Result<Self, Fault> {
        let file = |(setting, path): (&str, Option<&str>), kind| {
            path.map(|path| {
                let pem = Pem::read(setting, path, kind == KEY)?;
                pem.has(kind).map(|()| pem)
            })
            .transpose()
        };
        let mut read = Self::default();
        if let Some(roots) = file(roots, CERTIFICATE)? {
            read = read.trust(roots);
        }
        match (file(certificate, CERTIFICATE)?, file(key, KEY)?) {
            (Some(certificate), Some(key)) => read = read.identify(certificate, key),
            (None, None) => {}
            _ => {
                let (certificate, key) = (certificate.0, key.0);
                return Err(Fault::new(
                    FaultKind::Misconfigured,
                    format!("only one of {certificate} and {key} is given"),
                    format!("give both: {certificate}=/path/client.pem&{key}=/path/client.key"),
                ));
            }
        }
        #[cfg(feature = "tls")]
        read.check()?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const NONE: (&str, Option<&str>) = ("none", None);

    #[test]
    fn what_is_wrong_with_a_file_is_said_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        let path = file.to_str().unwrap();
        let wrong = |setting| {
            Certificates::read((setting, Some(path)), NONE, NONE).unwrap_err().to_string()
        };
        assert!(wrong("ca").contains(&format!("cannot read the file {path} that ca names")));
        fs::write(&file, "s3ntinel").unwrap();
        let said = wrong("sslrootcert");
        assert!(
            said.contains(&format!("{path} that sslrootcert names holds no CERTIFICATE")),
            "{said}"
        );
        assert!(!said.contains("s3ntinel"), "{said}");
    }

    #[test]
    #[cfg(unix)]
    fn a_key_that_others_may_read_is_refused() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("client.key");
        let path = file.to_str().unwrap();
        fs::write(path, "s3ntinel").unwrap();
        let refused = |mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            let fault = Certificates::read(NONE, NONE, ("key", Some(path))).unwrap_err();
            assert!(fault.message().contains(path), "{fault:#}");
            format!("{fault:#}")
        };
        assert!(refused(0o600).contains("holds no PRIVATE KEY"));
        for mode in [0o604, 0o620, 0o666] {
            let said = refused(mode);
            assert!(said.contains("other users can read") && said.contains("chmod 600"), "{said}");
            Pem::key_file("key", path).unwrap_err();
            Pem::file("cert", path).unwrap();
        }
        let is_of_root = fs::metadata(path).unwrap().uid() == 0;
        let its_group_may = refused(0o640).contains("holds no PRIVATE KEY");
        assert_eq!(its_group_may, is_of_root, "its group may read a key of root's");
    }

    #[test]
    fn a_certificate_without_its_key_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("client.pem");
        fs::write(&file, "-----BEGIN CERTIFICATE-----").unwrap();
        let cert = ("cert", file.to_str());
        let said = Certificates::read(NONE, cert, ("key", None)).unwrap_err().to_string();
        assert!(said.contains("only one of cert and key is given"), "{said}");
    }

    #[test]
    fn no_key_is_in_a_text() {
        let certificates =
            Certificates::default().identify(Pem::text(b"mine"), Pem::text(b"s3ntinel"));
        assert!(!format!("{certificates:?}").contains("s3ntinel"));
    }
}
