//! The store on real servers.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod conformance;
mod drills;
mod kinds;
mod places;
mod support;
