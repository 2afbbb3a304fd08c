//! Passwords.

use std::{fmt, sync::Arc};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// A password, which no text of tenure shows. It has no `Display`, and its `Debug` is `(hidden)`.
///
/// ```
/// use tenure_url::Secret;
///
/// let secret = Secret::from("s3cret");
/// assert_eq!(format!("{secret:?}"), "(hidden)");
/// assert_eq!(secret.expose(), "s3cret");
/// assert!(secret.occurs_in("wrong password 's3cret'"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Returns the password itself, to send it to a server.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns whether `text`, which came from a server, repeats the password, as it is or percent-encoded.
    ///
    /// Do not show any part of such a text to people: the text around a gap reveals its content.
    #[must_use]
    pub fn occurs_in(&self, text: &str) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let encoded = utf8_percent_encode(&self.0, NON_ALPHANUMERIC).to_string();
        text.contains(&*self.0) || text.contains(&encoded)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn what_a_server_repeats_of_a_password_is_noticed() {
        let secret = Secret::from("p@ss");
        assert!(secret.occurs_in("AUTH p@sses") && secret.occurs_in("AUTH p%40ss"));
        assert!(!secret.occurs_in("AUTH pass") && !Secret::from("").occurs_in("AUTH"));
        assert_eq!(format!("{:?}", Some(secret)), "Some((hidden))");
    }
}
