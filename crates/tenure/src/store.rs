//! A store as a program sees it: its capabilities, its locks and its health.
//!
//! [`Tenure::store`](crate::Tenure::store) returns the open store, and [`open`] opens one for a builder. [`MemoryStore`] is the store for tests. To write
//! your own store, use the crate `tenure-core`.
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

pub use crate::open::open;
pub use tenure_core::store::{
    BadSeverity, Capabilities, Diagnostic, LeaseScope, Listing, MemoryStore, Reason, Reasons,
    Saved, Severity, Store,
};
