//! What a connection over TLS is, and what a failed handshake means.

#[cfg(not(feature = "tls"))]
use tenure_url::Certificates;

use crate::client::Failure;

#[cfg(feature = "tls")]
mod with_rustls {
    use std::sync::Arc;

    use rustls::{AlertDescription, ClientConfig, Error as TlsError, pki_types::ServerName};
    use tenure_core::{Fault, FaultKind, runtime::may_block, store::certificate_cure};
    use tenure_url::Certificates;
    use tokio::net::TcpStream;
    use tokio_rustls::{TlsConnector, client::TlsStream};

    use super::Failure;

    /// Speaks TLS with `host` over a connection to it.
    pub(crate) async fn connect(
        host: &str,
        stream: TcpStream,
        certificates: &Certificates,
    ) -> Result<TlsStream<TcpStream>, Failure> {
        let config = once(certificates).await?;
        let name = ServerName::try_from(host.to_owned()).map_err(|error| {
            let what = format!("a certificate cannot be for {host:?}: {error:#}");
            let help = "name the host as its certificate does";
            Failure::Unusable(Fault::new(FaultKind::Misconfigured, what, help))
        })?;
        Ok(TlsConnector::from(config).connect(name, stream).await?)
    }

    /// The same for all connections. What it is made of may be in files that take their time, and no other call waits
    /// for them.
    async fn once(certificates: &Certificates) -> Result<Arc<ClientConfig>, Failure> {
        if let Some(made) = certificates.made() {
            return Ok(made);
        }
        let of = certificates.clone();
        may_block(move || of.config()).await?.map_err(Failure::Unusable)
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
                    &error.to_string(),
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
                "check that cert in the URL is signed by an authority that the server trusts",
            )),
            TlsError::AlertReceived(AlertDescription::ProtocolVersion)
            | TlsError::PeerIncompatible(_) => Some((
                format!("supports no safe version of TLS, or no common cipher: {error:#}"),
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
