//! The embedded store, over real files and between real processes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod boots;
mod child;
mod conformance;
mod crash_images;
mod direct;
mod engine;
mod errors;
mod file_systems;
mod foreign;
mod forks;
mod hints;
mod hints_in_trouble;
mod history;
mod history_in_trouble;
mod housekeeping;
mod kinds;
mod members;
mod mutated;
mod names;
mod places;
mod processes;
#[cfg(target_os = "linux")]
mod slot_crashes;
mod slot_records;
mod support;
