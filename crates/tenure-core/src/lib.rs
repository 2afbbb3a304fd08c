//! The part of tenure that its users and its stores share: the store contract, the engine that renews and cleans up,
//! guards, and the kinds of lock.
//!
//! This crate is public for authors of stores. Programs add the crate `tenure`, which re-exports this one and selects
//! stores.

mod acquire;
mod acquisition;
#[doc(hidden)]
pub mod address;
pub mod asking;
pub mod clock;
mod context;
pub mod detached;
mod driver;
mod engine;
pub mod entropy;
pub mod error;
pub mod files;
pub mod history;
pub mod kinds;
mod local;
mod name_pattern;
mod name_use;
mod names;
mod notes;
pub mod observe;
mod options;
mod outage;
mod oversight;
mod pace;
#[doc(hidden)]
pub mod parts;
#[doc(hidden)]
pub mod plain;
mod retry_until;
pub mod runtime;
#[cfg(feature = "serde")]
mod serde;
pub mod store;
mod tenure;
pub mod threads;
pub mod trial;

pub use acquisition::guard::Guard;
pub use clock::{Clock, ManualClock, SystemClock, TokioClock};
pub use detached::Handle;
pub use entropy::{Entropy, OsEntropy, SeededEntropy};
pub use error::{
    AcquireError, AllReleaseError, BadHandle, DetachError, Error, HandleError, InspectError,
    LatchError, Lost, OnceError, ReleaseError, ShutdownError, StoreError,
};
pub use kinds::{
    All, AllGuard, Begun, DowngradeError, Election, Latch, Leaders, Leadership, Mutex, Once,
    Overlap, RwLock, Scope, Semaphore, SkippedSlot, SlotRun, WriteGuard, scope,
};
pub use name_pattern::NamePattern;
pub use names::{LockName, NameError};
pub use options::{Busy, Defaults};
pub use oversight::{List, Watcher};
pub use runtime::{in_background, may_block, within_runtime};
pub use store::{
    Eviction, Evictions, Fault, FaultKind, HintBoard, MemoryStore, Saved, Store, Wakeups,
};
pub use tenure::{Tenure, TenureBuilder};
pub use tenure_proto as proto;
pub use tenure_proto::{
    HoldId, Incarnation, LostReason, Owner, Timestamp, Token, election::Leader, queue::Snapshot,
    schedule,
};
