//! Why a call about a whole store failed.

use crate::{Fault, address::without_store, parts::ErrorParts};

/// Why a call about a store, not about one of its locks, failed: listing its locks, or asking for its health.
#[non_exhaustive]
pub struct StoreError {
    /// The store, without its password.
    pub store: String,
    /// What happened, and what the user can do.
    pub fault: Fault,
}

impl StoreError {
    /// Makes the error for this fault of `store`, given as [`Store::location`](crate::Store::location) returns it.
    #[must_use]
    pub fn new(store: impl Into<String>, fault: Fault) -> Self {
        Self { store: store.into(), fault }
    }

    pub(crate) fn parts(&self) -> ErrorParts<'_> {
        let Self { store, fault } = self;
        ErrorParts::new(format!("{store}: {}", without_store(fault.message(), store)))
            .kind(fault.kind())
            .because(std::error::Error::source(fault))
            .help(fault.help())
    }
}
