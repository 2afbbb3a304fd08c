//! What the checker remembers of the names of a run.

mod forgotten;
mod latches;
mod observers;
mod queues;
mod slots;
mod tokens;

pub use latches::LatchObservation;
pub use slots::SlotCall;

pub(super) use forgotten::Forgotten;
pub(super) use latches::{Call, Known, Latches, Wipe, present_arrivals};
pub(super) use observers::{Observer, Observers};
pub(super) use queues::Queues;
pub(super) use slots::{BegunRun, SkippedAt, Slots};
pub(super) use tokens::Tokens;
