//! A store of tenure made of several independent stores. A name is held when a majority of them holds it. With Redis
//! servers as members this is Redlock, with fencing tokens that rise.
//!
//! Programs open it by a URL, `quorum:redis://a,redis://b,redis://c`, or by `Tenure::quorum`. This crate is public for
//! programs that make the store themselves, for instance with their own members.
//! [docs/stores/quorum.md](https://github.com/tenure-rs/tenure/blob/main/docs/stores/quorum.md) says what it promises,
//! and under which assumptions.
//!
//! The store asks all members at once, each with its own time limit. So a slow or dead member never delays a grant by
//! more than that limit. The store gives back what it got without a majority. A member that restarts, with its memory
//! or without, is not counted before the longest lease has passed.
//! passed.

mod assembly;
mod error;
mod evictions;
mod health;
mod holds;
mod locks;
mod members;
mod options;
mod servers;
mod store;

pub use options::QuorumOptions;
pub use store::QuorumStore;
#[doc(hidden)]
pub use store::{check_count, check_distinct, is_reserved};
