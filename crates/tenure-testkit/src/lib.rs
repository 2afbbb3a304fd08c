//! What proves a store and a client of tenure: the conformance suite that every store mounts,
//! seeded faults, and a simulation.
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
//!
//! The simulation runs whole processes over such a store: see [`sim`].

pub mod check;
pub mod child;
mod clock;
pub mod conformance;
pub mod counting;
pub mod fault;
mod fuzz;
pub mod kinds;
pub mod lying;
mod random;
pub mod rotation;
pub mod server;
pub mod sim;
mod vault;

pub use fuzz::fuzz;
pub use random::Random;
pub use tenure_core::proto;
pub use vault::Vault;

/// Its page breaks a rule, which only this crate can.
#[cfg(doctest)]
#[doc = include_str!("../../../CONTRIBUTING.md")]
struct Contributing;
