//! What happened to a lock: who held it, from when until when, and how each hold ended.
//!
//! A store keeps [events](Event), each of which tells all that its writer knew. They may arrive late, twice, in another
//! order or not at all, so nothing is derived when they are written: [`entries`] puts them together when somebody
//! reads them.

mod entry;
mod event;
mod retention;

pub use entry::{HistoryEntry, entries};
pub use event::{Ending, Event, EventEnd, SlotTry, StoredEvent};
pub use retention::{BadRetention, Retention};
