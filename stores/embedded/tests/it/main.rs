//! The embedded store, over real files and between real processes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod child;
mod conformance;
mod crash_images;
mod engine;
mod errors;
mod file_systems;
mod housekeeping;
mod kinds;
mod names;
mod places;
mod processes;
mod support;
