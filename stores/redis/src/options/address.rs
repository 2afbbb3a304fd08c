//! Where a server listens.

use std::path::PathBuf;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Address {
    /// A host and a port.
    Tcp {
        /// A name or an address.
        host: String,
        /// The port.
        port: u16,
    },
    /// A host and a port, encrypted, the server's certificate checked.
    Tls {
        /// The name in the certificate.
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

    /// The same with TLS, or without it. No certificate is for a socket.
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
