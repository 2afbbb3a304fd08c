//! What a look at a store brought up.

use tenure_core::{Fault, Store, store::Diagnostic};

/// What a look at a store brought up.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Examination {
    /// The kind of store in one word, as [`Store::kind`].
    pub kind: &'static str,
    /// Where it is, without its password.
    pub location: String,
    /// The steps of opening it and, if it opened, what [`Store::health`] looks at. Where a step
    /// failed it is bad, and what would have come behind it is missing.
    pub diagnostics: Vec<Diagnostic>,
}

/// What a store says of itself.
pub(crate) async fn examine_store(store: &dyn Store) -> Result<Examination, Fault> {
    let diagnostics = store.health().await?;
    Ok(Examination { kind: store.kind(), location: store.location(), diagnostics })
}
