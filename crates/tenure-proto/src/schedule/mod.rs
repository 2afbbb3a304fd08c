//! Once per slot: which slot of a schedule it is, whether its work is still to be done, and the record that says so.
//!
//! A schedule divides time into **slots**. The work of a slot is done under a lock, and the store keeps a
//! [`SlotRecord`] beside that lock: which slot was started last, and which was finished. Whoever gets the lock looks
//! there first, and marks the slot there before it releases.
//!
//! All times of day are in microseconds since the Unix epoch, by the store's clock.

mod period;
mod record;
mod slot;
mod state;
mod utc;
mod verdict;

pub use period::Period;
pub use record::{BadRecord, Finished, SlotRecord, Started};
pub use slot::{BadSlotName, Meant, NamedSlot, Schedule, Slot, SlotId, meant};
pub use state::ScheduleState;
pub use verdict::{Mark, OtherSchedule, Running, Skipped, SlotRules};
