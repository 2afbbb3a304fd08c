//! Passwords.

use std::{fmt, sync::Arc};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// A password, which no text of tenure shows: it has no `Display`, and its `Debug` is `(hidden)`.
///
/// ```
/// use tenure_url::Secret;
///
/// let secret = Secret::from("s3cret");
/// assert_eq!(format!("{secret:?}"), "(hidden)");
/// assert_eq!(secret.expose(), "s3cret");
/// assert_eq!(secret.hidden_in("wrong password 's3cret'"), "wrong password '***'");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Returns the password itself, for whoever sends it to a server.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns `text`, which a server said, with `***` wherever it repeats the password, as it is or percent-encoded.
    #[must_use]
    pub fn hidden_in(&self, text: &str) -> String {
        if self.0.is_empty() {
            return text.to_owned();
        }
        let encoded = utf8_percent_encode(&self.0, NON_ALPHANUMERIC).to_string();
        text.replace(&*self.0, "***").replace(&encoded, "***")
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
    fn what_a_server_repeats_of_a_password_is_hidden() {
        let secret = Secret::from("p@ss");
        assert_eq!(secret.hidden_in("AUTH p@ss, p%40ss: p@sses"), "AUTH ***, ***: ***es");
        assert_eq!(Secret::from("").hidden_in("none"), "none");
        assert_eq!(format!("{:?}", Some(secret)), "Some((hidden))");
    }
}
