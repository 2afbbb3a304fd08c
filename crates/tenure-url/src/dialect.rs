//! How the URLs of one store are written.

use std::fmt::Display;

use tenure_core::{Fault, FaultKind};

use crate::nearest;

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
    pub(crate) fn not_encoded(&self, found: &str, sign: char) -> Fault {
        self.wrong_but(found, encode(sign))
    }

    /// A value that a setting does not take, with those that it takes. The value is not shown: it may be a piece of a
    /// password.
    #[must_use]
    pub fn unknown_value(&self, setting: &str, value: &str, known: &[&str]) -> Fault {
        let near = nearest(value, known.iter().copied());
        let near = near.map(|near| format!("did you mean {near:?}? ")).unwrap_or_default();
        let help = format!("{near}{setting} is {}", listed(known));
        self.wrong_but(format!("{setting} has an unknown value"), help)
    }
}

/// What to write instead of a sign that is part of a user, a password or a value.
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
