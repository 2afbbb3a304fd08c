//! Which lock an error is about, and what its store said.

use std::{borrow::Cow, error::Error, fmt};

use super::text::Parts;
use crate::{Fault, LockName};

/// Which lock, in which store: the beginning of every error's text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockAddress {
    /// The lock's name.
    pub name: LockName,
    /// The store, without its password.
    pub store: String,
}

impl LockAddress {
    /// The lock `name` in `store`, which is what [`Store::location`](crate::Store::location) says.
    #[must_use]
    pub fn new(name: LockName, store: impl Into<String>) -> Self {
        Self { name, store: store.into() }
    }
}

/// What a fault says, without the store: who reads it has read that before it.
#[doc(hidden)]
#[must_use]
pub fn without_store<'m>(message: &'m str, store: &str) -> Cow<'m, str> {
    let mentions = [" at ", " of "].map(|before| format!("{before}{store}"));
    let Some(mention) = mentions.iter().find(|&mention| message.contains(mention)) else {
        return message.into();
    };
    // What goes on behind it is another store.
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || "/?,:-".contains(c));
    match message.split_once(mention.as_str()) {
        Some((before, rest)) if ends(rest) || rest.starts_with(": ") || rest.starts_with(", ") => {
            format!("{before}{rest}").into()
        }
        _ => message.into(),
    }
}

impl fmt::Display for LockAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lock {:?} in {}", self.name, self.store)
    }
}

/// A store's fault in a call for a lock.
#[derive(Debug)]
#[non_exhaustive]
pub struct StoreFailure {
    /// Which lock, in which store.
    pub lock: LockAddress,
    /// What happened, and what the user can do.
    pub fault: Fault,
}

impl StoreFailure {
    /// This fault, in a call for the lock at this address.
    #[must_use]
    pub const fn new(lock: LockAddress, fault: Fault) -> Self {
        Self { lock, fault }
    }

    pub(crate) fn parts(&self) -> Parts<'_> {
        let Self { lock, fault } = self;
        let message = without_store(fault.message(), &lock.store);
        Parts::at(lock, message).because(fault.source()).help(fault.help())
    }
}
