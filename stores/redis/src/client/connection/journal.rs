//! The steps to a connection, and how far an attempt came.

use std::fmt;

/// What has to go well, one after the other, before a connection can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectStep {
    /// The sentinels say which server it is.
    Primary,
    /// The nodes of a cluster say which servers there are.
    Primaries,
    /// The host's name leads to addresses.
    Name,
    /// Something listens there.
    Connection,
    Tls,
    /// The server speaks its protocol, and takes this user and password.
    Login,
    Database,
    Format,
    /// Replicas can be waited for.
    Replicas,
}

impl fmt::Display for ConnectStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Primary => "primary",
            Self::Primaries => "primaries",
            Self::Name => "name",
            Self::Connection => "connection",
            Self::Tls => "TLS",
            Self::Login => "login",
            Self::Database => "database",
            Self::Format => "format",
            Self::Replicas => "confirmation",
        })
    }
}

/// How far an attempt to connect came.
#[derive(Debug)]
pub(crate) struct ConnectTrace {
    /// What is being tried.
    pub(crate) at: ConnectStep,
    /// What went well, and what was found.
    pub(crate) done: Vec<(ConnectStep, String)>,
}

impl ConnectTrace {
    pub(crate) fn new() -> Self {
        Self { at: ConnectStep::Name, done: Vec::new() }
    }

    pub(crate) fn begin(&mut self, step: ConnectStep) {
        self.at = step;
    }

    pub(crate) fn done(&mut self, found: String) {
        self.done.push((self.at, found));
    }
}
