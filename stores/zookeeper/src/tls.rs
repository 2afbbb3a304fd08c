//! A connection over TLS of its own, for a look at one server: the client does not tell why it has none.

use std::{io, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::options::Certificates;

/// Speaks TLS with `host`, as the client does.
pub(crate) async fn connect(
    host: &str,
    stream: TcpStream,
    certificates: &Certificates,
) -> io::Result<TlsStream<TcpStream>> {
    let config = config(certificates)?;
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

fn config(certificates: &Certificates) -> io::Result<ClientConfig> {
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
        return Ok(config.with_no_client_auth());
    };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(io::Error::other)?;
    config.with_client_auth_cert(chain.map_err(io::Error::other)?, key).map_err(io::Error::other)
}
