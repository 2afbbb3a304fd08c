//! The lock that an error is about.

use std::{borrow::Cow, fmt};

use crate::LockName;

/// A lock's name and its store: the beginning of every error's text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockAddress {
    /// The lock's name.
    pub name: LockName,
    /// The store, without its password.
    pub store: String,
}

impl LockAddress {
    /// Makes the address of the lock `name` in `store`, given as [`Store::location`](crate::Store::location) returns
    /// it.
    #[must_use]
    pub fn new(name: LockName, store: impl Into<String>) -> Self {
        Self { name, store: store.into() }
    }
}

impl fmt::Display for LockAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lock {:?} in {}", self.name, self.store)
    }
}

/// A fault's message without the store, which the reader has already seen before it.
#[doc(hidden)]
#[must_use]
pub fn without_store<'m>(message: &'m str, store: &str) -> Cow<'m, str> {
    let mentions = [" at ", " of "].map(|before| format!("{before}{store}"));
    let Some(mention) = mentions.iter().find(|&mention| message.contains(mention)) else {
        return message.into();
    };
    // Text that continues after it names another store.
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || "/?,:-".contains(c));
    match message.split_once(mention.as_str()) {
        Some((before, rest)) if ends(rest) || rest.starts_with(": ") || rest.starts_with(", ") => {
            format!("{before}{rest}").into()
        }
        _ => message.into(),
    }
}
