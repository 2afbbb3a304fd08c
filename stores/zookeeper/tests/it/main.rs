//! The store on real servers.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod behind;
mod child;
mod conformance;
mod curator;
mod disturbed;
mod doctor;
mod drills;
mod dropping;
mod ended;
mod fenced;
mod handoffs;
mod kinds;
mod numbers;
mod passwords;
mod places;
mod refusals;
mod repeated;
mod strangers;
mod support;
