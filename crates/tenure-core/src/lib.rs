//! What users of tenure and its stores share: the store contract, the engine that renews and
//! cleans up, guards, and the kinds of lock.
//!
//! Users add the crate `tenure`, which re-exports this one and chooses stores.

mod acquire;
mod acquisition;
pub mod clock;
mod contention;
mod context;
mod defaults;
mod driver;
mod engine;
mod entropy;
pub mod error;
mod fault;
mod guard;
mod handover;
mod hints;
pub mod kinds;
mod lease;
mod memory;
mod names;
pub mod observe;
mod offer;
mod options;
mod scope;
pub mod store;
mod tenure;
mod together;

pub use clock::{Clock, ManualClock, SystemClock};
pub use defaults::Defaults;
pub use entropy::{Entropy, OsEntropy, SeededEntropy};
pub use error::{
    AcquireError, AllReleaseError, AnyError, LatchError, LookError, Lost, ReleaseError,
    ShutdownError,
};
pub use fault::{Fault, FaultKind};
pub use guard::Guard;
pub use hints::{HintBoard, Wakeups};
pub use kinds::{
    All, AllGuard, DowngradeError, Election, Latch, Leaders, Leadership, Mutex, RwLock, Semaphore,
    WriteGuard,
};
pub use memory::{MemoryStore, Saved};
pub use names::{LockName, NameError};
pub use options::Busy;
pub use scope::{Scope, scope};
pub use store::Store;
pub use tenure::{Tenure, TenureBuilder};
pub use tenure_proto as proto;
pub use tenure_proto::{
    Incarnation, LostReason, Owner, Timestamp, Token, election::Leader, queue::Snapshot,
};
