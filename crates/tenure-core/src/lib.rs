//! What users of tenure and its stores share: the store contract, the engine that renews and
//! cleans up, guards, and the kinds of lock.
//!
//! Users add the crate `tenure`, which re-exports this one and chooses stores.

pub mod clock;
mod fault;
mod hints;
mod memory;
mod names;
pub mod store;

pub use clock::{Clock, ManualClock, SystemClock};
pub use fault::{Fault, FaultKind};
pub use hints::{HintBoard, Wakeups};
pub use memory::MemoryStore;
pub use names::{LockName, NameError};
pub use store::Store;
pub use tenure_proto as proto;
