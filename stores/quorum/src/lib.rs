//! A store of tenure made of several independent stores: a name is held when a majority of them
//! hold it. With Redis servers as members this is Redlock, with fencing tokens that rise.
//!
//! Users choose it by a URL, `quorum:redis://a,redis://b,redis://c`, or by `Tenure::quorum`. This crate
//! is public for those who make the store by hand, of members of their own for instance. What it
//! promises, and under which assumptions, stands in [docs/stores/quorum.md](https://github.com/tenure-rs/tenure/blob/main/docs/stores/quorum.md).
//!
//! All members are asked at once, each with a time limit of its own, so that one that is slow or
//! dead never holds up a grant for longer than that. What was won without a majority is given back.
//! A member that restarts, with its memory or without, is not counted before the longest lease has
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
