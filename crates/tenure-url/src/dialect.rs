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
}
