//! What all databases share, tested on one in memory whose answers take their time.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panics")]

mod distant;
mod grouped;
mod looks;
mod renewals;
mod stalled;
mod starved;
