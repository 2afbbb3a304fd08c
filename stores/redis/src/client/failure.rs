//! Why a connection, or a command over one, failed.

use std::{io, sync::Arc};

#[cfg(feature = "tls")]
use tenure_core::Fault;
use tenure_url::Secret;

use crate::client::ServerError;

/// A failure of which every call that waits for the connection can be told.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Io(Arc<io::Error>),
    /// The server's own words.
    #[error("{0}")]
    Server(Box<ServerError>),
    #[error("the server does not speak its protocol")]
    Nonsense,
    /// Nothing was sent: what we were told to connect with is of no use.
    #[cfg(feature = "tls")]
    #[error("{0}")]
    Unusable(Fault),
    /// The server did it, and it is not known that enough replicas have it.
    #[error("{0}")]
    Unconfirmed(String),
    /// The same, as the server took no mark behind it.
    #[error("{0}")]
    Unmarked(String),
    #[error("it does not support HELLO")]
    TooOld,
    #[cfg(not(feature = "tls"))]
    #[error("this build has no TLS")]
    NoTls,
}

impl Failure {
    /// The same without what the server may repeat of a secret that it was told.
    pub(crate) fn without(self, secret: Option<&Secret>) -> Self {
        match self {
            // Without all of the detail: what stands around a gap tells what was in it.
            Self::Server(error)
                if secret.is_some_and(|secret| secret.occurs_in(error.detail())) =>
            {
                Self::Server(Box::new(ServerError::new(error.code())))
            }
            other => other,
        }
    }

    /// Whether no further file can be opened here (ENFILE and EMFILE, which have these numbers on every Unix), of which
    /// the server knows nothing.
    pub(crate) fn is_lack_of_files(&self) -> bool {
        matches!(self, Self::Io(error) if cfg!(unix) && matches!(error.raw_os_error(), Some(23 | 24)))
    }

    /// Whether the server takes no more connections.
    pub(crate) fn is_full(&self) -> bool {
        self.detail().is_some_and(|detail| detail.starts_with("max number of clients"))
    }

    /// The word by which the server says what is wrong.
    pub(crate) fn code(&self) -> Option<&str> {
        match self {
            Self::Server(error) => Some(error.code()),
            _ => None,
        }
    }

    /// Whether the server refuses this user and password.
    pub(crate) fn is_wrong_password(&self) -> bool {
        self.code() == Some("WRONGPASS")
    }

    /// What the server says beside it.
    pub(crate) fn detail(&self) -> Option<&str> {
        match self {
            Self::Server(error) => Some(error.detail()),
            _ => None,
        }
    }

    /// Whether the server has answered: it is there, and did not do what it was asked.
    pub(crate) const fn is_an_answer(&self) -> bool {
        matches!(self, Self::Server(_) | Self::Unconfirmed(_) | Self::Unmarked(_))
    }

    pub(crate) fn is_timeout(&self) -> bool {
        use io::ErrorKind::{TimedOut, WouldBlock};
        matches!(self, Self::Io(error) if matches!(error.kind(), TimedOut | WouldBlock))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(Arc::new(error))
    }
}

impl From<io::ErrorKind> for Failure {
    fn from(kind: io::ErrorKind) -> Self {
        io::Error::from(kind).into()
    }
}
