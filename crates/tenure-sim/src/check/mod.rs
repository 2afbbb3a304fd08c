//! Watches every hold of a simulation and says which promise was broken.
//!
//! It sees what no process can see: true time, and what the store really keeps.

mod checker;
mod counts;
mod election;
mod history;
mod holding;
mod keeper;
mod latch;
mod outcome;
mod reentrant;
mod slots;
mod state;
mod together;
mod view;
mod watched;

pub use checker::Checker;
pub use counts::Counts;
pub use history::Violation;
pub use keeper::StoreOracle;
pub use slots::Finishing;
pub use state::{LatchObservation, SlotCall};
pub use watched::{GuardStatus, LossReport, ReportedHold};
