//! What the checker remembers of the names of a run.

mod forgotten;
mod latches;
mod observers;
mod queues;
mod tokens;

pub use latches::LatchObservation;

pub(super) use forgotten::Forgotten;
pub(super) use latches::{Call, Known, Latches, Wipe, present_arrivals};
pub(super) use observers::{Observer, Observers};
pub(super) use queues::Queues;
pub(super) use tokens::Tokens;
