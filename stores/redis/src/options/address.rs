//! The address of a server.

use std::path::PathBuf;

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Address {
    /// A host and a port.
    Tcp {
        /// A host name or an IP address.
        host: String,
        /// The port.
        port: u16,
    },
    /// A host and a port, over TLS, with the server's certificate verified.
    Tls {
        /// The host name, which the certificate must contain.
        host: String,
        /// The port.
        port: u16,
    },
    /// A unix socket.
    Unix(PathBuf),
}

impl Address {
    /// A host and a port, with TLS or without it.
    pub(crate) fn of(tls: bool, host: &str, port: u16) -> Self {
        let host = host.to_owned();
        if tls { Self::Tls { host, port } } else { Self::Tcp { host, port } }
    }

    /// The same address with TLS, or without it. A socket has no certificate.
    pub(super) fn with_tls(self, yes: bool) -> Self {
        match self {
            Self::Tcp { host, port } | Self::Tls { host, port } => Self::of(yes, &host, port),
            Self::Unix(path) => Self::Unix(path),
        }
    }
}

impl<H: Into<String>> From<(H, u16)> for Address {
    /// Without TLS.
    fn from((host, port): (H, u16)) -> Self {
        Self::Tcp { host: host.into(), port }
    }
}

pub(crate) fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// A host and a port.
pub(crate) type HostPort = (String, u16);
