//! What proves a store of tenure: the conformance suite that every store mounts, and seeded faults.
//!
//! It is public for the tests of a store; a release may add cases, which the store then has to pass.
//!
//! A store's tests mount the suite with one line, which makes one test of each case:
//!
//! ```
//! use std::{sync::Arc, time::Duration};
//!
//! use tenure_core::{ManualClock, MemoryStore, Store};
//! use tenure_testkit::conformance::Adapter;
//!
//! #[derive(Debug)]
//! struct Memory {
//!     clock: ManualClock,
//!     store: MemoryStore,
//! }
//!
//! impl Memory {
//!     fn new() -> Self {
//!         let clock = ManualClock::new();
//!         Self { store: MemoryStore::with_clock(Arc::new(clock.clone())), clock }
//!     }
//! }
//!
//! #[async_trait::async_trait]
//! impl Adapter for Memory {
//!     async fn open(&self) -> Arc<dyn Store> {
//!         Arc::new(self.store.clone())
//!     }
//!
//!     async fn pass(&self, length: Duration) {
//!         self.clock.advance(length);
//!     }
//! }
//!
//! tenure_testkit::conformance!(Memory::new());
//! ```
//!
//! [`kinds!`] mounts what each kind of lock does there in the same way.

pub mod child;
pub mod conformance;
pub mod counting;
pub mod distance;
pub mod fault;
mod fuzz;
pub mod kinds;
mod random;
pub mod rotation;
mod vault;

pub use fuzz::fuzz;
pub use random::Random;
pub use vault::Vault;
