//! One name as a store keeps it: its holders, its waiters, and which of them is next.
//!
//! This defines in code what a store must do. The memory store and the embedded store keep a [`NameState`] and only add
//! where to keep it. Stores with their own language (scripts, statements) must answer as it does.

mod acquire;
mod ask;
mod identity;
mod kind;
mod label;
mod mode;
mod offer;
mod release;
mod room;
mod state;
mod take_over;
mod together;
mod wire;

pub use ask::{Answer, Ask, Contender, Intent, Order, Position, Snapshot, Waiting};
pub use identity::Identity;
pub use kind::{Kind, NoKind};
pub use label::Label;
pub use mode::Mode;
pub use release::{Evicted, Raised, Released};
pub use room::Occupancy;
pub use state::{
    Client, DecisionContext, Holder, Limits, NameState, Presence, QueueError, Waiter, Wake,
};
pub use take_over::{TakeOver, TakenOver};
pub use together::{Grant, Together, acquire_together};
