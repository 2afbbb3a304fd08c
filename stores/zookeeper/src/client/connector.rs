//! How a session is begun.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tenure_url::Password;

use super::stream::Encryption;

/// Why the last server that was tried was of no use, for whoever does not wait until all is tried.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastFailure(Arc<Mutex<Option<Arc<str>>>>);

impl LastFailure {
    pub(super) fn tell(&self, why: Option<Arc<str>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    pub(crate) fn last(&self) -> Option<Arc<str>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A session to be begun.
pub(crate) struct Connector {
    pub(super) length: Duration,
    pub(super) encryption: Option<Encryption>,
    /// A user and a password.
    #[cfg_attr(not(feature = "sasl"), allow(dead_code, reason = "it is not built in"))]
    pub(super) sasl: Option<(String, Password)>,
    pub(super) last_failure: LastFailure,
}

impl Connector {
    pub(super) fn new() -> Self {
        let (length, last_failure) = (Duration::from_secs(10), LastFailure::default());
        Self { length, encryption: None, sasl: None, last_failure }
    }

    /// The length that is asked for.
    pub(crate) const fn with_session_timeout(mut self, length: Duration) -> Self {
        self.length = length;
        self
    }

    /// Tells there what is wrong with servers, as it tries them.
    pub(crate) fn with_trouble(mut self, last_failure: LastFailure) -> Self {
        self.last_failure = last_failure;
        self
    }

    #[cfg(feature = "tls")]
    pub(crate) fn with_tls(mut self, encryption: Encryption) -> Self {
        self.encryption = Some(encryption);
        self
    }

    #[cfg(feature = "sasl")]
    pub(crate) fn with_sasl(mut self, user: &str, password: Password) -> Self {
        self.sasl = Some((user.to_owned(), password));
        self
    }
}
