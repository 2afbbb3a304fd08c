//! What a program sees of a store: what it can do, which locks are in it and how it is.
//!
//! [`Tenure::store`](crate::Tenure::store) gives the store that is open, and [`MemoryStore`] is the one for tests. What
//! it takes to write a store is in the crate `tenure-core`.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use std::sync::Arc;
//! use tenure::{Tenure, store::MemoryStore};
//!
//! // Two processes of a test, which share a store.
//! let store = Arc::new(MemoryStore::new());
//! let (one, other) = (Tenure::with_store(store.clone()), Tenure::with_store(store));
//! let guard = one.mutex("job").lock().await?;
//! assert!(other.mutex("job").try_lock().await?.is_none());
//! guard.release().await?;
//! # Ok::<(), tenure::Error>(())
//! # }).unwrap();
//! ```

pub use tenure_core::store::{
    BadSeverity, Capabilities, Diagnostic, LeaseScope, Listing, MemoryStore, Reason, Reasons,
    Saved, Severity, Store,
};
