//! Faults, chosen by a seed.

mod faults;
mod network;
mod tally;
mod unreliable;

pub use faults::Faults;
pub use tally::{Kind, Tally};
pub use unreliable::Unreliable;
