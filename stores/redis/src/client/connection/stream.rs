//! The bytes of a connection: over TCP, TLS, or a unix socket.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    task::{Context, Poll},
};

use tenure_core::runtime;
#[cfg(unix)]
use tenure_url::Certificates;
use tokio::net::{UnixStream, unix};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, tcp},
};

use crate::{
    client::{ConnectStep, ConnectTrace, Failure, connection::tls},
    options::Address,
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

/// Connects to `address`, and writes down how far it came.
pub(crate) async fn open(
    address: &Address,
    certificates: &Certificates,
    journal: &mut ConnectTrace,
) -> Result<(Reader, Writer), Failure> {
    match address {
        Address::Tcp { host, port } => {
            let (reader, writer) = tcp(host, *port, journal).await?.into_split();
            Ok((Box::new(reader), Writer::Tcp(writer)))
        }
        #[cfg(unix)]
        Address::Unix(path) => {
            journal.begin(ConnectStep::Connection);
            let (reader, writer) = UnixStream::connect(path).await?.into_split();
            journal.done(format!("{} is open", path.display()));
            Ok((Box::new(reader), Writer::Unix(writer)))
        }
        #[cfg(not(unix))]
        Address::Unix(_) => Err(io::Error::from(io::ErrorKind::Unsupported).into()),
        #[cfg(feature = "tls")]
        Address::Tls { host, port } => {
            let stream = tcp(host, *port, journal).await?;
            journal.begin(ConnectStep::Tls);
            let stream = tls::connect(host, stream, certificates).await?;
            let version = stream.get_ref().1.protocol_version();
            let version = version.and_then(|version| version.as_str()).unwrap_or("TLS");
            journal.done(format!("{version}, and the certificate is trusted for {host}"));
            let (reader, writer) = tokio::io::split(stream);
            Ok((Box::new(reader), Writer::Tls(Box::new(writer))))
        }
        #[cfg(not(feature = "tls"))]
        Address::Tls { .. } => {
            journal.begin(ConnectStep::Tls);
            Err(tls::unknown(certificates))
        }
    }
}

/// Connects to the first address of `host` where something listens.
async fn tcp(host: &str, port: u16, journal: &mut ConnectTrace) -> io::Result<TcpStream> {
    let addresses = addresses(host, port, journal).await?;
    journal.begin(ConnectStep::Connection);
    let mut failed = Vec::new();
    for address in &addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                let before: String = failed.iter().map(|(_, why)| format!(", not {why}")).collect();
                journal.done(format!("{address} is open{before}"));
                return Ok(stream);
            }
            // Of an address that the user wrote everything is said already.
            Err(error) if addresses.len() == 1 && address.ip().to_string() == host => {
                return Err(error);
            }
            Err(error) => failed.push((error.kind(), format!("{address}: {error:#}"))),
        }
    }
    let kind = failed.last().map_or(io::ErrorKind::NotFound, |(kind, _)| *kind);
    let each: Vec<_> = failed.into_iter().map(|(_, why)| why).collect();
    Err(io::Error::new(kind, each.join("; ")))
}

/// What the name of a host leads to.
async fn addresses(
    host: &str,
    port: u16,
    journal: &mut ConnectTrace,
) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![(address, port).into()]);
    }
    journal.begin(ConnectStep::Name);
    let addresses = runtime::addresses(host, port).await?;
    if addresses.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "it has none"));
    }
    let each: Vec<_> = addresses.iter().map(|address| address.ip().to_string()).collect();
    journal.done(format!("{host} is {}", each.join(", ")));
    Ok(addresses)
}
