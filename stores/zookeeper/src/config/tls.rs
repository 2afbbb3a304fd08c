//! Connections over TLS.

use std::io;

use tenure_url::Certificates;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::client;

/// Connects to `host` over TLS, to probe one server.
pub(crate) async fn connect(
    host: &str,
    stream: TcpStream,
    certificates: &Certificates,
) -> io::Result<TlsStream<TcpStream>> {
    let config = certificates.config().map_err(io::Error::other)?;
    client::begin(host, stream, &config).await
}
