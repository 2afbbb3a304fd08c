//! Faults, chosen by a seed.

mod faults;
mod tally;
mod unreliable;

pub use faults::Faults;
pub use tally::{Kind, Tally};
pub use unreliable::Unreliable;
