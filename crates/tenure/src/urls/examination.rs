//! The result of examining a store.

use tenure_core::{Fault, Store, store::Diagnostic};

/// The result of examining a store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Examination {
    /// The kind of store in one word, as [`Store::kind`] returns it.
    pub kind: &'static str,
    /// The store's location, without its password.
    pub location: String,
    /// The steps of opening the store, and the results of [`Store::health`] if it opened. A step that failed is bad,
    /// and the steps after it are missing.
    pub diagnostics: Vec<Diagnostic>,
}

/// Examines an open store.
pub(crate) async fn examine_store(store: &dyn Store) -> Result<Examination, Fault> {
    let diagnostics = store.health().await?;
    Ok(Examination { kind: store.kind(), location: store.location(), diagnostics })
}
