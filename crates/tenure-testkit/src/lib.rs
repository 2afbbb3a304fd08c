//! What proves a store and a client of tenure: the conformance suite that every store mounts,
//! seeded faults, and a simulation.
//!
//! A store's tests mount the suite with one line:
//!
//! ```ignore
//! tenure_testkit::conformance!(Adapter::new());
//! ```

pub mod check;
pub mod conformance;
pub mod fault;
mod random;
pub mod sim;

pub use random::Random;
pub use tenure_core::proto;
