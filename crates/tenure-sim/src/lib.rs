//! The simulation: the real engine, guards and hand-over of several processes, over a memory store
//! behind an unreliable network, in a time of their own, all from one seed.
//!
//! The same seed always gives the same run. A run that breaks a promise says which, and how to see
//! it again.

pub mod chaos;
pub mod check;
pub mod client;
mod clock;
mod finale;
mod limited;
mod pausable;
mod plan;
mod process;
mod progress;
mod resource;
mod run;
mod sweep;
mod tasks;
mod trouble;
mod world;

pub use clock::SimClock;
pub use limited::PollLimit;
pub use pausable::{Pausable, ProcessControl};
pub use plan::Plan;
pub use resource::{Resources, WriteOutcome};
pub use run::{RunReport, replay, simulate};
pub use sweep::{SweepReport, seeds_wanted, sweep, sweep_of, sweep_with};

/// Its page breaks a rule, which only this crate can.
#[cfg(doctest)]
#[doc = include_str!("../../../CONTRIBUTING.md")]
struct Contributing;
