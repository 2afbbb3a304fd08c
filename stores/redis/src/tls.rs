//! Whom to trust over TLS, who we are, and what a failed handshake means.

use std::fmt;
#[cfg(feature = "tls")]
use std::sync::{Arc, OnceLock};

use tenure_core::{Fault, FaultKind, files};

use crate::failure::Failure;

/// Certificates other than the system's, in PEM.
#[derive(Clone, Default)]
pub(crate) struct Certificates {
    roots: Option<Vec<u8>>,
    own: Option<(Vec<u8>, Vec<u8>)>,
    /// What is made of them, once the first connection needs it.
    #[cfg(feature = "tls")]
    config: Arc<OnceLock<Arc<rustls::ClientConfig>>>,
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The key is as secret as a password.
        let (roots, own) = (self.roots.is_some(), self.own.is_some());
        f.debug_struct("Certificates").field("roots", &roots).field("own", &own).finish()
    }
}

/// What a URL says of certificates: files in PEM.
#[derive(Default)]
pub(crate) struct Files {
    pub(crate) roots: Option<String>,
    pub(crate) certificate: Option<String>,
    pub(crate) key: Option<String>,
}

impl Certificates {
    pub(crate) fn trust(&mut self, roots: &[u8]) {
        *self = Self { roots: Some(roots.to_vec()), own: self.own.take(), ..Self::default() };
    }

    pub(crate) fn show(&mut self, certificate: &[u8], key: &[u8]) {
        let own = Some((certificate.to_vec(), key.to_vec()));
        *self = Self { roots: self.roots.take(), own, ..Self::default() };
    }

    /// Reads what a URL names.
    pub(crate) fn read(files: &Files) -> Result<Self, Fault> {
        let mut read = Self::default();
        if let Some(roots) = &files.roots {
            read.trust(&pem("ca", roots, "CERTIFICATE")?);
        }
        match (&files.certificate, &files.key) {
            (Some(certificate), Some(key)) => {
                let certificate = pem("cert", certificate, "CERTIFICATE")?;
                read.show(&certificate, &pem("key", key, "PRIVATE KEY")?);
                Ok(read)
            }
            (None, None) => Ok(read),
            _ => Err(Fault::new(
                FaultKind::Misconfigured,
                "of a client's certificate and its key only one is given",
                "give both: rediss://host?cert=/path/client.pem&key=/path/client.key",
            )),
        }
    }
}

/// More than all authorities of a system have.
const LONGEST: u64 = 8 * 1024 * 1024;

/// A file's text; one without anything of its kind would make every server a stranger.
fn pem(setting: &str, path: &str, kind: &str) -> Result<Vec<u8>, Fault> {
    let read = files::read(path.as_ref(), LONGEST).map(|file| file.bytes);
    let text = read.map_err(|error| {
        Fault::new(
            FaultKind::Misconfigured,
            format!("cannot read the file {path} that {setting} names: {error:#}"),
            "correct the path, or make the file readable",
        )
    })?;
    let mark = format!("{kind}-----");
    if text.windows(mark.len()).any(|window| window == mark.as_bytes()) {
        return Ok(text);
    }
    Err(Fault::new(
        FaultKind::Misconfigured,
        format!("the file {path} that {setting} names holds no {kind} in PEM"),
        "name a file that begins with -----BEGIN",
    ))
}

#[cfg(feature = "tls")]
mod with_rustls {
    use std::{error::Error, sync::Arc};

    use rustls::{
        AlertDescription, ClientConfig, Error as TlsError, RootCertStore,
        client::Resumption,
        crypto::CryptoProvider,
        pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
    };
    use tenure_core::{files, runtime::may_block, store::certificate_cure};
    use tokio::net::TcpStream;
    use tokio_rustls::{TlsConnector, client::TlsStream};

    use super::{Certificates, Failure};

    /// Speaks TLS with `host` over a connection to it.
    pub(crate) async fn connect(
        host: &str,
        stream: TcpStream,
        certificates: &Certificates,
    ) -> Result<TlsStream<TcpStream>, Failure> {
        let config = once(certificates).await?;
        let name = ServerName::try_from(host.to_owned()).map_err(|error| unusable(&error))?;
        Ok(TlsConnector::from(config).connect(name, stream).await?)
    }

    /// The same for all connections. What it is made of may be in files that take their time, and no other call waits
    /// for them.
    async fn once(certificates: &Certificates) -> Result<Arc<ClientConfig>, Failure> {
        if let Some(config) = certificates.config.get() {
            return Ok(config.clone());
        }
        let of = certificates.clone();
        let made = may_block(move || config(&of)).await?.map_err(|error| unusable(&*error))?;
        Ok(certificates.config.get_or_init(|| Arc::new(made)).clone())
    }

    fn config(certificates: &Certificates) -> Result<ClientConfig, Box<dyn Error + Send + Sync>> {
        let mut roots = RootCertStore::empty();
        match &certificates.roots {
            Some(pem) => {
                for root in CertificateDer::pem_slice_iter(pem) {
                    roots.add(root?)?;
                }
            }
            None => match files::named_authorities() {
                Some(named) => {
                    let files = named.pem.iter().map(Vec::as_slice);
                    let found = files.flat_map(CertificateDer::pem_slice_iter);
                    roots.add_parsable_certificates(found.filter_map(Result::ok));
                    if roots.is_empty() {
                        let why = named.unread.join("; ");
                        let what = "SSL_CERT_FILE and SSL_CERT_DIR name no authority";
                        return Err(if why.is_empty() { what.into() } else { why.into() });
                    }
                }
                // A system can have certificates that are of no use beside those that are.
                None => {
                    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                }
            },
        }
        // An application that has chosen a provider keeps it.
        let chosen = CryptoProvider::get_default().cloned();
        let provider = chosen.unwrap_or_else(|| Arc::new(rustls::crypto::ring::default_provider()));
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots);
        let mut config = match &certificates.own {
            Some((certificate, key)) => {
                let chain: Result<Vec<_>, _> =
                    CertificateDer::pem_slice_iter(certificate).collect();
                config.with_client_auth_cert(chain?, PrivateKeyDer::from_pem_slice(key)?)?
            }
            None => config.with_no_client_auth(),
        };
        // The certificate is checked on each connection.
        config.resumption = Resumption::disabled();
        Ok(config)
    }

    fn unusable(error: &dyn Error) -> Failure {
        Failure::Unusable(format!("the certificates cannot be used: {error:#}"))
    }

    /// What went wrong in a handshake and what can be done, if it was one that failed and would
    /// fail again.
    pub(crate) fn trouble(error: &Failure) -> Option<(String, &'static str)> {
        let Failure::Io(error) = error else { return None };
        let error = error.get_ref()?.downcast_ref::<TlsError>()?;
        match error {
            // Why is said by the error itself.
            TlsError::InvalidCertificate(_) => Some((
                "has a certificate that is not trusted".to_owned(),
                certificate_cure(
                    &format!("{error:#}"),
                    "name the certificate of its authority: rediss://host?ca=/path/ca.pem, and the \
                     host as the certificate does",
                ),
            )),
            TlsError::AlertReceived(AlertDescription::CertificateRequired) => Some((
                "wants a client's certificate".to_owned(),
                "name it and its key: rediss://host?cert=/path/client.pem&key=/path/client.key",
            )),
            TlsError::AlertReceived(
                AlertDescription::BadCertificate
                | AlertDescription::UnknownCA
                | AlertDescription::CertificateExpired
                | AlertDescription::CertificateUnknown,
            ) => Some((
                format!("refuses the client's certificate: {error:#}"),
                "see that cert in the URL is signed by an authority that the server trusts",
            )),
            TlsError::AlertReceived(AlertDescription::ProtocolVersion)
            | TlsError::PeerIncompatible(_) => Some((
                format!("speaks no version of TLS that is safe, and no common cipher: {error:#}"),
                "let the server speak TLS 1.2 or 1.3: tls-protocols in its configuration",
            )),
            TlsError::AlertReceived(AlertDescription::HandshakeFailure) => Some((
                "has no cipher or version of TLS in common with this client".to_owned(),
                "let the server speak TLS 1.2 or 1.3 with its usual ciphers: tls-protocols and tls-ciphers in its \
                 configuration",
            )),
            TlsError::InvalidMessage(_) => Some((
                "does not speak TLS there".to_owned(),
                "write redis:// instead of rediss://, or the server's tls-port",
            )),
            _ => None,
        }
    }
}

#[cfg(feature = "tls")]
pub(crate) use with_rustls::{connect, trouble};

/// This build knows no TLS.
#[cfg(not(feature = "tls"))]
pub(crate) fn unknown(_: &Certificates) -> Failure {
    Failure::NoTls
}

#[cfg(not(feature = "tls"))]
pub(crate) fn trouble(_: &Failure) -> Option<(String, &'static str)> {
    None
}
