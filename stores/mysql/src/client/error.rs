//! Why the server did not do what it was asked.

use std::{fmt, io};

/// What a server said that refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerError {
    pub(crate) code: u16,
    pub(crate) message: String,
}

#[derive(Debug)]
pub(crate) enum Error {
    /// It refused.
    Server(ServerError),
    /// The connection broke.
    Io(io::Error),
    /// It says what no server says, or more than is read.
    Odd(&'static str),
    /// It speaks no TLS.
    NoTls,
    /// It wants the user recognized in a way that there is not here.
    Plugin(String),
    /// It wants the password in a way in which others can read it.
    Exposed,
}

impl Error {
    pub(crate) const fn odd(what: &'static str) -> Self {
        Self::Odd(what)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(said) => write!(f, "{} ({})", said.message, said.code),
            Self::Io(error) => error.fmt(f),
            Self::Odd(what) => write!(f, "the server violates the protocol: {what}"),
            Self::NoTls => f.write_str("the server does not support TLS"),
            Self::Plugin(name) => {
                write!(f, "the server wants the user to log in with the plugin {name:?}")
            }
            Self::Exposed => f.write_str(
                "the server wants the password encrypted with an unverified key, and the \
                 connection is not encrypted",
            ),
        }
    }
}

impl std::error::Error for Error {}
