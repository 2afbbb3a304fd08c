//! Which lock an error is about, and what its store said.

use std::{error::Error, fmt};

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
        Parts::at(lock, fault.message()).because(fault.source()).help(fault.help())
    }
}
