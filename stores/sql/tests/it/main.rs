//! What all databases share, tested on one in memory whose answers take their time.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panics")]

mod distant_database;
mod grouped_asks;
mod renewals;
mod slow_health;
mod stalled_statements;
mod starvation;
