//! Who we are to a server.

use tenure_url::Secret;

/// A user, and by what it proves that it is this one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Login {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Secret>,
}

impl Login {
    pub(crate) fn new(user: Option<&str>, password: &str) -> Self {
        Self { user: user.map(str::to_owned), password: Some(Secret::from(password)) }
    }

    /// The name that the server knows.
    pub(crate) fn user(&self) -> &str {
        self.user.as_deref().unwrap_or("default")
    }
}
