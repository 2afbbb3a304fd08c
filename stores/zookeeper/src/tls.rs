//! Connections over TLS.

use std::{io, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::{client, options::Certificates};

/// Speaks TLS with `host`, of which a look at one server is made.
pub(crate) async fn connect(
    host: &str,
    stream: TcpStream,
    certificates: &Certificates,
) -> io::Result<TlsStream<TcpStream>> {
    client::begin(host, stream, &config(certificates)?).await
}

/// Whom connections trust, and who we are to them. It is ring that encrypts.
pub(crate) fn config(certificates: &Certificates) -> io::Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    for ca in CertificateDer::pem_slice_iter(certificates.ca.as_deref().unwrap_or("").as_bytes()) {
        roots.add(ca.map_err(io::Error::other)?).map_err(io::Error::other)?;
    }
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots);
    let Some((certificate, key)) = &certificates.own else {
        return Ok(Arc::new(config.with_no_client_auth()));
    };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(io::Error::other)?;
    let config = config.with_client_auth_cert(chain.map_err(io::Error::other)?, key);
    config.map(Arc::new).map_err(io::Error::other)
}
