//! Why a call came to nothing.

use std::{fmt, sync::Arc};

/// What the ensemble said, or that it said nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Error {
    NoNode,
    NoAuth,
    BadVersion,
    NoChildrenForEphemerals,
    NodeExists,
    NotEmpty,
    InvalidAcl,
    NotReadOnly,
    QuotaExceeded,
    Throttled,
    Unimplemented,
    /// Another number of the protocol.
    Code(i32),
    /// The session is over.
    SessionExpired,
    AuthFailed,
    /// The same, and the password is read at each login and was right before.
    #[cfg_attr(not(feature = "sasl"), allow(dead_code, reason = "it is not built in"))]
    Stale,
    /// The server has no login by SASL.
    #[cfg_attr(not(feature = "sasl"), allow(dead_code, reason = "it is not built in"))]
    NoSasl,
    /// A server did not prove that it knows the password, as each does that was told it.
    Unproven,
    /// No server has a certificate that is trusted, and what is wrong with the last one.
    Untrusted(Arc<str>),
    ClientClosed,
    /// The connection broke after the call was sent.
    ConnectionLoss,
    /// No server begins a session, or goes on with it, and why the last one that was tried does not.
    Away(Arc<str>),
    /// A server says what none does, or more than is read. The connection ends by it.
    Odd(&'static str),
}

impl Error {
    /// What a number of the protocol means.
    pub(super) const fn of(code: i32) -> Self {
        match code {
            -6 => Self::Unimplemented,
            -101 => Self::NoNode,
            -102 => Self::NoAuth,
            -103 => Self::BadVersion,
            -108 => Self::NoChildrenForEphemerals,
            -110 => Self::NodeExists,
            -111 => Self::NotEmpty,
            -112 => Self::SessionExpired,
            -114 => Self::InvalidAcl,
            // The second wants a login by SASL.
            -115 | -124 => Self::AuthFailed,
            -119 => Self::NotReadOnly,
            -125 => Self::QuotaExceeded,
            -127 => Self::Throttled,
            other => Self::Code(other),
        }
    }

    /// Whether no other connection is of use to the session.
    pub(super) const fn ends_session(&self) -> bool {
        matches!(
            self,
            Self::SessionExpired
                | Self::AuthFailed
                | Self::Stale
                | Self::Unproven
                | Self::ClientClosed
        )
    }

    /// Whether a server refuses the login, which another one may take.
    pub(super) const fn refuses_login(&self) -> bool {
        matches!(self, Self::AuthFailed | Self::Stale | Self::NoSasl)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoNode => "there is no such node",
            Self::NoAuth => "not permitted",
            Self::BadVersion => "the node is of another version",
            Self::NoChildrenForEphemerals => "an ephemeral node has no children",
            Self::NodeExists => "there is such a node already",
            Self::NotEmpty => "the node has children",
            Self::InvalidAcl => "the list of rights is not valid",
            Self::NotReadOnly => "the server takes no writes",
            Self::QuotaExceeded => "the quota is reached",
            Self::Throttled => "too many requests are in progress",
            Self::Unimplemented => "the server does not support this call",
            Self::Code(code) => return write!(f, "error {code} of the server"),
            Self::SessionExpired => "the session has expired",
            Self::AuthFailed | Self::Stale => "it refuses this user and password",
            Self::NoSasl => "it has no SASL login",
            Self::Unproven => "the server did not prove that it knows the password",
            Self::ClientClosed => "the session was closed",
            Self::ConnectionLoss => "the connection broke",
            Self::Away(why) | Self::Untrusted(why) => why,
            Self::Odd(what) => {
                return write!(f, "the server violates the protocol: {what}");
            }
        })
    }
}

impl std::error::Error for Error {}
