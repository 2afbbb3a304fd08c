//! The bytes of a connection: over TCP, TLS, or a unix socket.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

#[cfg(unix)]
use tokio::net::{UnixStream, unix};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, tcp},
};

use crate::{
    Address,
    failure::Failure,
    tls::{self, Certificates},
};

pub(crate) type Reader = Box<dyn AsyncRead + Send + Unpin>;

/// Where commands are written to.
pub(crate) enum Writer {
    Tcp(tcp::OwnedWriteHalf),
    #[cfg(unix)]
    Unix(unix::OwnedWriteHalf),
    #[cfg(feature = "tls")]
    Tls(Box<dyn AsyncWrite + Send + Unpin>),
}

impl Writer {
    /// Writes what is taken at once, without waiting.
    pub(crate) fn write_now(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.try_write(bytes),
            #[cfg(unix)]
            Self::Unix(stream) => stream.try_write(bytes),
            // What is encrypted may have to be written later.
            #[cfg(feature = "tls")]
            Self::Tls(_) => Ok(0),
        }
    }

    pub(crate) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stream().poll_write(cx, bytes)
    }

    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(cx)
    }

    fn stream(&mut self) -> Pin<&mut (dyn AsyncWrite + Send + Unpin)> {
        match self {
            Self::Tcp(stream) => Pin::new(stream),
            #[cfg(unix)]
            Self::Unix(stream) => Pin::new(stream),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => Pin::new(stream),
        }
    }
}

/// Connects to `address`.
pub(crate) async fn open(
    address: &Address,
    certificates: &Certificates,
) -> Result<(Reader, Writer), Failure> {
    match address {
        Address::Tcp { host, port } => {
            let (reader, writer) = tcp(host, *port).await?.into_split();
            Ok((Box::new(reader), Writer::Tcp(writer)))
        }
        #[cfg(unix)]
        Address::Unix(path) => {
            let (reader, writer) = UnixStream::connect(path).await?.into_split();
            Ok((Box::new(reader), Writer::Unix(writer)))
        }
        #[cfg(not(unix))]
        Address::Unix(_) => Err(io::Error::from(io::ErrorKind::Unsupported).into()),
        #[cfg(feature = "tls")]
        Address::Tls { host, port } => {
            let stream = tcp(host, *port).await?;
            let stream = tls::connect(host, stream, certificates).await?;
            let (reader, writer) = tokio::io::split(stream);
            Ok((Box::new(reader), Writer::Tls(Box::new(writer))))
        }
        #[cfg(not(feature = "tls"))]
        Address::Tls { .. } => Err(tls::unknown(certificates)),
    }
}

async fn tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}
