//! The way to a server, encrypted or not.

use std::io;

use tenure_core::runtime;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};

pub(super) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// How connections are encrypted.
#[cfg(feature = "tls")]
pub(crate) type Encryption = std::sync::Arc<rustls::ClientConfig>;

/// Nothing is, in this build.
#[cfg(not(feature = "tls"))]
pub(crate) enum Encryption {}

pub(super) async fn connect(
    host: &str,
    port: u16,
    encryption: Option<&Encryption>,
) -> io::Result<Box<dyn ByteStream>> {
    let addresses = runtime::addresses(host, port).await?;
    let stream = TcpStream::connect(addresses.as_slice()).await?;
    stream.set_nodelay(true)?;
    match encryption {
        None => Ok(Box::new(stream)),
        Some(encryption) => encrypted(host, stream, encryption).await,
    }
}

/// Whether the server's certificate is why.
#[cfg(feature = "tls")]
pub(super) fn is_untrusted(error: &io::Error) -> bool {
    let said = error.get_ref().and_then(|error| error.downcast_ref());
    matches!(said, Some(rustls::Error::InvalidCertificate(_)))
}

#[cfg(not(feature = "tls"))]
pub(super) const fn is_untrusted(_: &io::Error) -> bool {
    false
}

#[cfg(feature = "tls")]
async fn encrypted(
    host: &str,
    stream: TcpStream,
    encryption: &Encryption,
) -> io::Result<Box<dyn ByteStream>> {
    Ok(Box::new(begin(host, stream, encryption).await?))
}

#[cfg(not(feature = "tls"))]
#[allow(clippy::unused_async, reason = "with TLS it waits")]
async fn encrypted(
    _: &str,
    _: TcpStream,
    encryption: &Encryption,
) -> io::Result<Box<dyn ByteStream>> {
    match *encryption {}
}

/// Speaks TLS with `host`.
#[cfg(feature = "tls")]
pub(crate) async fn begin(
    host: &str,
    stream: TcpStream,
    encryption: &Encryption,
) -> io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
    let name = rustls::pki_types::ServerName::try_from(host.to_owned());
    let connector = tokio_rustls::TlsConnector::from(encryption.clone());
    connector.connect(name.map_err(io::Error::other)?, stream).await
}
