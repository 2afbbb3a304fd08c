//! Which lock an error is about.

use std::fmt;

use crate::LockName;

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

impl fmt::Display for LockAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lock {:?} in {}", self.name, self.store)
    }
}
