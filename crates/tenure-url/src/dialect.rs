//! The URL syntax of one store.

use std::fmt::Display;

use tenure_core::{Fault, FaultKind};

use crate::nearest;

/// The URL syntax of one store.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// The store's usual name: `Redis`.
    pub store: &'static str,
    /// The schemes, without the colon.
    pub schemes: &'static [&'static str],
    /// Correct URLs, to show for a malformed one.
    pub example: &'static str,
}

impl Dialect {
    /// Returns the fault of a malformed URL. The help shows a correct one.
    #[must_use]
    pub fn wrong(&self, message: impl Display) -> Fault {
        self.wrong_but(message, format!("write {}", self.example))
    }

    /// Returns the fault of a malformed URL, with what to write instead.
    #[must_use]
    pub fn wrong_but(&self, message: impl Display, help: impl Into<String>) -> Fault {
        let message = format!("invalid {} URL: {message}", self.store);
        Fault::new(FaultKind::Misconfigured, message, help)
    }

    /// The fault if a character that ends one part of a URL is in another part, most likely in a password.
    pub(crate) fn not_encoded(&self, found: &str, sign: char) -> Fault {
        self.wrong_but(found, encode(sign))
    }

    /// Returns the fault for a value that a setting does not accept, with the accepted ones. It does not show the
    /// value, which may be part of a password.
    #[must_use]
    pub fn unknown_value(&self, setting: &str, value: &str, known: &[&str]) -> Fault {
        let near = nearest(value, known.iter().copied());
        let near = near.map(|near| format!("did you mean {near:?}? ")).unwrap_or_default();
        let help = format!("{near}{setting} is {}", listed(known));
        self.wrong_but(format!("{setting} has an unknown value"), help)
    }
}

/// What to write instead of a character that belongs to a user, a password or a value.
pub(crate) fn encode(sign: char) -> String {
    let code = u32::from(sign);
    format!("write {sign} as %{code:02X} in a user, a password or a value")
}

/// `a, b or c`.
fn listed(words: &[&str]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => words.concat(),
    }
}
