//! How the URLs of one store are written.

use std::fmt::Display;

use tenure_core::{Fault, FaultKind};

/// How the URLs of one store are written.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// The store, as people call it: `Redis`.
    pub store: &'static str,
    /// What may stand before the colon.
    pub schemes: &'static [&'static str],
    /// URLs that are right, for whoever wrote one that is not.
    pub example: &'static str,
}

impl Dialect {
    /// What is wrong with a URL; the help is how one is written.
    #[must_use]
    pub fn wrong(&self, message: impl Display) -> Fault {
        self.wrong_but(message, format!("write {}", self.example))
    }

    /// What is wrong with a URL, and what to write instead.
    #[must_use]
    pub fn wrong_but(&self, message: impl Display, help: impl Into<String>) -> Fault {
        let message = format!("invalid {} URL: {message}", self.store);
        Fault::new(FaultKind::Misconfigured, message, help)
    }

    /// A sign that ends a part of a URL stands in another one, most likely a password.
    pub(crate) fn not_encoded(&self, found: &str) -> Fault {
        self.wrong_but(found, ENCODE)
    }
}

/// What to write where something special is not.
pub(crate) const ENCODE: &str = "write what is special in a user, a password or a value percent-encoded: %40 for @, %2F for /, \
     %3A for :, %3F for ?, %23 for #, %26 for &, %25 for %";
