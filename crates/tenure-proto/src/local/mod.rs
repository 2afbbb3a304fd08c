//! The order of the tasks of one process that want the same name (promise
//! [S8](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s8-order)).
//!
//! They queue in their process, and one of them is in the store's queue for all. So a process asks the store once for
//! each run of hand-overs, and not once for each task.

mod queue;
pub mod turn;

pub use queue::{Handoff, Joined, LocalQueue, Ticket};
