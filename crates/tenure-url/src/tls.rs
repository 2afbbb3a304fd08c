//! Certificates for rustls.

use std::sync::Arc;

use rustls::{
    ClientConfig, RootCertStore,
    client::Resumption,
    crypto::{CryptoProvider, ring},
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{Error as PemError, PemObject},
    },
};
use tenure_core::{Fault, FaultKind, files};

use crate::{Certificates, Pem};

impl Certificates {
    /// Returns the configuration of connections: to servers that one of the authorities signed, for the requested host.
    /// It is made once, and is the same for all clones.
    ///
    /// It uses the cryptography provider that the program chose, or ring. It resumes no session, so each connection
    /// verifies the certificate.
    ///
    /// If the system's authorities are trusted, this reads files, which may take some time. [`Certificates::made`] does
    /// not.
    ///
    /// # Errors
    /// A fault that says which certificate or key cannot be used, and why.
    pub fn config(&self) -> Result<Arc<ClientConfig>, Fault> {
        if let Some(made) = self.made() {
            return Ok(made);
        }
        let config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(format!("TLS cannot be used: {error:#}")))?
            .with_root_certificates(self.roots()?);
        let mut config = match self.identity()? {
            Some((chain, key)) => {
                config.with_client_auth_cert(chain, key).map_err(|error| self.no_pair(&error))?
            }
            None => config.with_no_client_auth(),
        };
        config.resumption = Resumption::disabled();
        Ok(self.made.get_or_init(|| Arc::new(config)).clone())
    }

    /// Returns the configuration if it was made before, without reading anything.
    #[must_use]
    pub fn made(&self) -> Option<Arc<ClientConfig>> {
        self.made.get().cloned()
    }

    /// Returns the trusted authorities, for another kind of configuration.
    ///
    /// # Errors
    /// A fault if there is none, or if a named one cannot be used.
    pub fn roots(&self) -> Result<RootCertStore, Fault> {
        let Some(pem) = &self.roots else { return of_system() };
        let help = "name a file with certificates of authorities in PEM";
        let mut roots = RootCertStore::empty();
        for root in certificates(pem)? {
            roots.add(root).map_err(|error| {
                pem.wrong(format!("holds a certificate that cannot be used: {error:#}"), help)
            })?;
        }
        Ok(roots)
    }

    /// Returns the client certificate with those that signed it, and its key, if they are given.
    ///
    /// # Errors
    /// A fault if one of them cannot be used.
    pub fn identity(
        &self,
    ) -> Result<Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>, Fault> {
        let Some((certificate, key)) = &self.own else { return Ok(None) };
        let chain = certificates(certificate)?;
        let key = PrivateKeyDer::from_pem_slice(key.expose()).map_err(|_| {
            let is_encrypted = String::from_utf8_lossy(key.expose()).contains("ENCRYPTED");
            if is_encrypted {
                key.wrong(
                    "holds an encrypted key",
                    "decrypt it: openssl pkey -in client.key -out plain.key",
                )
            } else {
                key.wrong(
                    "holds no private key in PKCS#8, PKCS#1 or SEC1",
                    "name a file that begins with -----BEGIN and the kind of key",
                )
            }
        })?;
        Ok(Some((chain, key)))
    }

    /// Why a client certificate and its key cannot be used together.
    fn no_pair(&self, error: &rustls::Error) -> Fault {
        match &self.own {
            Some((certificate, key)) if matches!(error, rustls::Error::InconsistentKeys(_)) => key
                .wrong(
                    format!("does not belong to {}", certificate.origin()),
                    "name the key that the certificate was created from",
                ),
            _ => unusable(format!("the client's certificate cannot be used: {error:#}")),
        }
    }

    /// Checks before a connection that everything given can be used. Does not check the system's authorities.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        if self.roots.is_some() { self.config().map(drop) } else { self.identity().map(drop) }
    }
}

/// A provider that the program chose stays.
fn provider() -> Arc<CryptoProvider> {
    CryptoProvider::get_default().cloned().unwrap_or_else(|| Arc::new(ring::default_provider()))
}

/// All certificates in it, at least one.
fn certificates(pem: &Pem) -> Result<Vec<CertificateDer<'static>>, Fault> {
    let help = "name a file with certificates in PEM";
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.expose()).collect();
    let found = found.map_err(|error| pem.wrong(describe_error(&error), help))?;
    if found.is_empty() {
        return Err(pem.wrong("holds no CERTIFICATE in PEM", help));
    }
    Ok(found)
}

/// What is wrong, without any line of the text: a key may be named by mistake.
const fn describe_error(error: &PemError) -> &'static str {
    match error {
        PemError::MissingSectionEnd { .. } => "is incomplete: an -----END is missing",
        PemError::IllegalSectionStart { .. } => "has an invalid -----BEGIN",
        PemError::Base64Decode(_) => "is damaged: it has bytes that are not base64",
        _ => "is not PEM",
    }
}

fn of_system() -> Result<RootCertStore, Fault> {
    let mut roots = RootCertStore::empty();
    let Some(named) = files::named_authorities() else {
        // A system may have unusable certificates beside usable ones.
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if !roots.is_empty() {
            return Ok(roots);
        }
        let fault = Fault::new(
            FaultKind::Misconfigured,
            "this system trusts no authority, so tenure cannot verify certificates",
            "install its certificates (ca-certificates), or name a file of authorities to trust \
             in the URL",
        );
        let why: Vec<_> = found.errors.iter().map(ToString::to_string).collect();
        return Err(if why.is_empty() { fault } else { fault.because(why.join("; ")) });
    };
    let files = named.pem.iter().map(Vec::as_slice);
    let found = files.flat_map(CertificateDer::pem_slice_iter);
    roots.add_parsable_certificates(found.filter_map(Result::ok));
    if !roots.is_empty() {
        return Ok(roots);
    }
    let fault = Fault::new(
        FaultKind::Misconfigured,
        "SSL_CERT_FILE and SSL_CERT_DIR contain no authority",
        "correct them, unset them, or name a file of authorities to trust in the URL",
    );
    Err(if named.unread.is_empty() { fault } else { fault.because(named.unread.join("; ")) })
}

fn unusable(what: String) -> Fault {
    Fault::new(FaultKind::Misconfigured, what, "correct the certificates that the URL names")
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt, path::Path};

    use tenure_servers::Certificates as Files;

    use super::*;

    fn read(roots: &Path, own: Option<(&Path, &Path)>) -> Result<Certificates, Fault> {
        let (certificate, key) = own.unzip();
        let [certificate, key] = [certificate, key].map(|path| path.and_then(Path::to_str));
        Certificates::read(("ca", roots.to_str()), ("cert", certificate), ("key", key))
    }

    #[test]
    fn what_can_be_used_is_made_once() {
        let files = Files::new();
        let own = (files.file("client.pem"), files.file("client.key"));
        let certificates = read(&files.file("ca.pem"), Some((&own.0, &own.1))).unwrap();
        let made = certificates.made().unwrap();
        assert!(Arc::ptr_eq(&made, &certificates.clone().config().unwrap()));
        assert_eq!(certificates.roots().unwrap().len(), 1);
        assert!(certificates.identity().unwrap().is_some());
    }

    #[test]
    fn what_cannot_be_used_is_named_without_a_piece_of_it() {
        let files = Files::new();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("wrong.pem");
        // As a key it must not be readable by others.
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let path = file.to_str().unwrap();
        let certificate = files.file("client.pem");
        for (text, says) in [
            ("-----BEGIN CERTIFICATE-----\ns3ntinel\n", "an -----END is missing"),
            ("-----BEGIN CERTIFICATE-----\ns3ntinel!\n-----END CERTIFICATE-----\n", "not base64"),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "cannot be used"),
        ] {
            fs::write(&file, text).unwrap();
            let said = format!("{:#}", read(&file, None).unwrap_err());
            assert!(said.contains(path) && said.contains(says), "{said}");
            assert!(!said.contains("s3ntinel"), "{said}");
        }
        for (text, says) in
            [("PRIVATE KEY", "holds no private key"), ("ENCRYPTED PRIVATE KEY", "openssl pkey")]
        {
            fs::write(&file, format!("-----BEGIN {text}{}\ns3ntinel\n", "-----")).unwrap();
            let fault = read(&files.file("ca.pem"), Some((&certificate, &file))).unwrap_err();
            let said = format!("{fault:#}");
            assert!(said.contains(path) && said.contains(says), "{said}");
            assert!(!said.contains("s3ntinel"), "{said}");
        }
        let others = Files::new();
        let other = others.file("client.key");
        let said =
            read(&files.file("ca.pem"), Some((&certificate, &other))).unwrap_err().to_string();
        assert!(said.contains("does not belong to"), "{said}");
    }
}
