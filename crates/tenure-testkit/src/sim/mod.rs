//! The simulation: the real engine, guards and hand-over of several processes, over a memory store
//! behind an unreliable network, in a time of their own, all from one seed.
//!
//! The same seed always gives the same run. A run that breaks a promise says which, and how to see
//! it again.

mod all;
pub mod chaos;
pub mod client;
mod election;
mod finale;
mod latch;
mod limited;
mod pausable;
mod plan;
mod process;
mod progress;
mod reentrant;
mod resource;
mod run;
mod sweep;
mod task;
mod trouble;
mod world;

pub use crate::clock::SimClock;
pub use limited::Limited;
pub use pausable::{Pausable, Power};
pub use plan::Plan;
pub use resource::{Resources, Written};
pub use run::{Run, replay, simulate};
pub use sweep::{Sweep, seeds_wanted, sweep, sweep_of, sweep_with};
