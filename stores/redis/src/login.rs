//! Who we are to a server.

use std::fmt;

/// A password, which no text of ours ever shows.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Password(pub(crate) String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

/// A user, and by what it proves that it is this one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Login {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Password>,
}

impl Login {
    pub(crate) fn new(user: Option<&str>, password: &str) -> Self {
        Self { user: user.map(str::to_owned), password: Some(Password(password.to_owned())) }
    }

    /// The name that the server knows.
    pub(crate) fn user(&self) -> &str {
        self.user.as_deref().unwrap_or("default")
    }

    pub(crate) fn password(&self) -> Option<&str> {
        self.password.as_ref().map(|password| password.0.as_str())
    }
}
