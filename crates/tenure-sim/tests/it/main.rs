//! The simulation holds what tenure promises, and notices what breaks that.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

mod downgrades;
mod dropped_acquires;
mod dropped_at_each_await;
mod mutants;
mod simulation;
mod turns;
