//! The way to a server, encrypted or not.

use std::{io, time::Duration};

use socket2::{SockRef, TcpKeepalive};
use tenure_core::runtime;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};

pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Send + Sync + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Sync + Unpin> ByteStream for T {}

pub(crate) async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let addresses = runtime::addresses(host, port).await?;
    let stream = TcpStream::connect(addresses.as_slice()).await?;
    stream.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new().with_time(Duration::from_secs(10));
    SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
    Ok(stream)
}

/// How a connection is encrypted.
#[cfg(feature = "tls")]
#[derive(Clone)]
pub(crate) struct Encryption(pub(crate) std::sync::Arc<rustls::ClientConfig>);

/// Nothing is, in this build.
#[cfg(not(feature = "tls"))]
#[derive(Clone)]
pub(crate) enum Encryption {}

impl Encryption {
    #[cfg(feature = "tls")]
    pub(crate) async fn begin(
        &self,
        host: &str,
        stream: TcpStream,
    ) -> io::Result<Box<dyn ByteStream>> {
        let name = rustls::pki_types::ServerName::try_from(host.to_owned());
        let name = name.map_err(io::Error::other)?;
        let connector = tokio_rustls::TlsConnector::from(self.0.clone());
        Ok(Box::new(connector.connect(name, stream).await?))
    }

    #[cfg(not(feature = "tls"))]
    #[allow(clippy::unused_async, reason = "with TLS it waits")]
    pub(crate) async fn begin(&self, _: &str, _: TcpStream) -> io::Result<Box<dyn ByteStream>> {
        match *self {}
    }
}

impl std::fmt::Debug for Encryption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Encryption")
    }
}
