//! Why a call that is about a store as a whole failed.

use crate::{Fault, address::without_store, parts::ErrorParts};

/// Why a store as a whole, and no lock of it, could not be asked: for a list of its locks, or after its health.
#[non_exhaustive]
pub struct StoreError {
    /// The store, without its password.
    pub store: String,
    /// What happened, and what the user can do.
    pub fault: Fault,
}

impl StoreError {
    /// This fault of `store`, which is what [`Store::location`](crate::Store::location) says.
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
