//! How a session is begun.

use std::time::Duration;

use super::stream::Encryption;

/// A session to be begun.
pub(crate) struct Connector {
    pub(super) length: Duration,
    pub(super) encryption: Option<Encryption>,
    /// A user and a password.
    #[cfg_attr(not(feature = "sasl"), allow(dead_code, reason = "it is not built in"))]
    pub(super) sasl: Option<(String, String)>,
}

impl Connector {
    pub(super) const fn new() -> Self {
        Self { length: Duration::from_secs(10), encryption: None, sasl: None }
    }

    /// The length that is asked for.
    pub(crate) const fn with_session_timeout(mut self, length: Duration) -> Self {
        self.length = length;
        self
    }

    #[cfg(feature = "tls")]
    pub(crate) fn with_tls(mut self, encryption: Encryption) -> Self {
        self.encryption = Some(encryption);
        self
    }

    #[cfg(feature = "sasl")]
    pub(crate) fn with_sasl(mut self, user: &str, password: &str) -> Self {
        self.sasl = Some((user.to_owned(), password.to_owned()));
        self
    }
}
