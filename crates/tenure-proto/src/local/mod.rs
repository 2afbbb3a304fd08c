//! Who is next among the tasks of one process that want the same name (promise [S8](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s8-order)).
//!
//! They queue in their process, and one of them stands in the store's queue for all: so a store is
//! asked once for each turn of a process, and not once for each task.

mod queue;
pub mod turn;

pub use queue::{Handoff, Joined, LocalQueue, Ticket};
