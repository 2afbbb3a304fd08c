//! The store on real servers.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod child;
mod conformance;
mod drills;
mod fenced;
mod kinds;
mod places;
mod support;
