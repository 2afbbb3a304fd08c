//! The fault of a store in a call for a lock.

use std::error::Error;

use crate::{
    Fault,
    address::{LockAddress, without_store},
    parts::ErrorParts,
};

/// A store's fault in a call for a lock.
#[non_exhaustive]
pub struct StoreFailure {
    /// The lock and its store.
    pub lock: LockAddress,
    /// What happened, and what the user can do.
    pub fault: Fault,
}

impl StoreFailure {
    /// Makes the error for this fault, in a call for the lock at this address.
    #[must_use]
    pub const fn new(lock: LockAddress, fault: Fault) -> Self {
        Self { lock, fault }
    }

    pub(crate) fn parts(&self) -> ErrorParts<'_> {
        let Self { lock, fault } = self;
        let message = without_store(fault.message(), &lock.store);
        let parts = ErrorParts::for_lock(lock, message).kind(fault.kind());
        parts.because(fault.source()).help(fault.help())
    }
}
