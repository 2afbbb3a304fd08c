//! The servers do what tests want of them.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

mod child;
mod zookeeper;
