//! Faults, chosen by a seed.

mod faults;
mod network;
mod proxy;
mod tally;
mod unreliable;

pub use faults::Faults;
pub use proxy::{Proxy, Weather};
pub use tally::{Kind, Tally};
pub use unreliable::Unreliable;
